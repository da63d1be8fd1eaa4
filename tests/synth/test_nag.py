"""cdk-nag runs in every synth, and what is not acknowledged fails it."""

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3

from tests.synth.conftest import CONTEXT, add_stage


def test_a_wildcard_that_nobody_gave_a_reason_for_fails_the_synth(
    tmp_path: object,
) -> None:
    app = App(context=CONTEXT, outdir=str(tmp_path))
    add_stage(app, "local")
    stack = Stack(app, "other", env=Environment(region="us-east-1"))
    iam.User(stack, "Everybody").add_to_policy(
        iam.PolicyStatement(actions=["s3:*"], resources=["*"])
    )
    with pytest.raises(RuntimeError, match=r"AwsSolutions-IAM5\[Action::s3:\*\]"):
        app.synth()


def test_a_public_bucket_fails_the_synth(tmp_path: object) -> None:
    app = App(context=CONTEXT, outdir=str(tmp_path))
    add_stage(app, "dev")
    s3.Bucket(Stack(app, "other", env=Environment(region="us-east-1")), "Open")
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
