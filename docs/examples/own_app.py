"""A CDK app that uses the construct library with archives that are already in the bucket."""

from aws_cdk import App, Environment, Stack

import platform_facts as facts
import triton_sagemaker as triton

app = App()
stack = Stack(app, "vision", env=Environment(region="eu-west-1"))
models = triton.ModelBucket(stack, "Models")
variant = triton.Variant(
    container=triton.TritonContainer(release=facts.release("25.09")),
    hosting=triton.MultiModelHosting(bucket=models, prefix="vision/"),
    instance_type=facts.instance_type("ml.g5.xlarge"),
    initial_instance_count=2,
)
endpoint = triton.TritonEndpoint(stack, "Endpoint", endpoint_name="vision", variants=[variant])
(served,) = endpoint.instance_production_variants
scaling = served.auto_scale_instance_count(min_capacity=2, max_capacity=8)
scaling.scale_on_gpu_utilization("Gpu", target_utilization_percent=70)
endpoint.monitor()
triton.CatalogTable(stack, "Table", stage="prod")
writer = triton.CatalogWriter(stack, "Writer", stage="prod")
churn = triton.ModelEntry(
    model="churn",
    version="1",
    endpoint=endpoint.endpoint_name,
    target_model="churn.tar.gz",
    signature={
        "inputs": [{"name": "rows", "datatype": "FP32", "shape": [-1, 8]}],
        "outputs": [{"name": "probability", "datatype": "FP32", "shape": [-1, 1]}],
        "max_batch_size": 64,
    },
)
catalog = triton.ModelCatalog(stack, "Catalog", stage="prod", endpoint="vision", entries=[churn])
catalog.publish(writer=writer, after=[endpoint.updated])
app.synth()
