"""An app of your own on the construct library: models that are in the bucket already."""

from aws_cdk import App, Environment, Stack

import platform_facts as facts
import triton_sagemaker as triton

app = App()
stack = Stack(app, "vision", env=Environment(region="eu-west-1"))
models = triton.ModelBucket(stack, "Models")
container = triton.TritonContainer(
    release=facts.release("25.09"),
    region=facts.region("eu-west-1"),
    processor=facts.Processor.GPU,
)
g5 = triton.Instances(instance_type=facts.instance_type("ml.g5.xlarge"), initial_count=2)
hosting = triton.MultiModelHosting(bucket=models.bucket, prefix="vision/")
variant = triton.Variant(container=container, hosting=hosting, instances=g5)
endpoint = triton.TritonEndpoint(stack, "Endpoint", endpoint_name="vision", variants=[variant])
endpoint.auto_scale(min_count=2, max_count=8, targets=[triton.GpuTarget(percent=70)])
endpoint.monitor()
app.synth()
