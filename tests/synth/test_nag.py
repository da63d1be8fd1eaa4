"""cdk-nag runs in every synth, and unsuppressed findings fail it."""

import pytest
from aws_cdk import App, Duration, Environment, Stack, Validations
from aws_cdk import aws_iam as iam
from cdk_nag import AwsSolutionsChecks

from tests.synth.conftest import CONTEXT, add_stage
from tests.synth.endpoints import SampleStack
from triton_sagemaker import CaptureBucket, DataCapture, ModelBucket, UpdateChecks


def test_unsuppressed_wildcard_fails_the_synth(tmp_path: object) -> None:
    app = App(context=CONTEXT, outdir=str(tmp_path))
    add_stage(app, "local")
    stack = Stack(app, "other", env=Environment(region="us-east-1"))
    iam.User(stack, "Everybody").add_to_policy(
        iam.PolicyStatement(actions=["s3:*"], resources=["*"])
    )
    with pytest.raises(RuntimeError, match=r"AwsSolutions-IAM5\[Action::s3:\*\]"):
        app.synth()


def test_construct_library_has_no_nag_findings() -> None:
    # With the bucket in another stack, the IDs of acknowledged findings contain Fn::ImportValue.
    sample = SampleStack(CONTEXT)
    Validations.of(sample.app).add_plugins(AwsSolutionsChecks(sample.app))
    models = ModelBucket(Stack(sample.app, "Shared", env=Environment(region="us-east-1")), "Models")
    records = CaptureBucket(sample.stack, "Records", retention={"all/": Duration.days(7)})
    hosting = sample.multi_model(bucket=models)
    endpoint = sample.endpoint(
        sample.variant(hosting=hosting), data_capture=DataCapture(bucket=records, prefix="all")
    )
    endpoint.instance_production_variants[0].auto_scale_instance_count(
        max_capacity=2
    ).scale_on_gpu_utilization("Gpu", target_utilization_percent=70)
    endpoint.monitor()
    UpdateChecks(sample.stack, "Checks", bucket=models)
    sample.app.synth()
