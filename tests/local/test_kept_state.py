"""`up --keep` after the end of a local SageMaker with two deployed endpoints."""

from contextlib import chdir

import boto3
import pytest

from cli.deploy import BOOTSTRAP_STACK
from endpoint_client import EndpointClient
from local_sagemaker import lifecycle
from local_sagemaker.tests.support.tiny_models import times, write_python
from tests.local.commands import run_as
from tests.local.conftest import Checkout, stage_file
from tests.local.invoking import predict
from tests.tritonsm import tritonsm

pytestmark = pytest.mark.drill

STAGE = stage_file("""
endpoints:
  many:
    models: [times]
    instance_type: ml.m5.xlarge
    scaling: { min_count: 1, max_count: 2, max_rps: 60 }
  one:
    hosting: single-model
    models: [times]
    instance_type: ml.m5.xlarge
""")


@pytest.fixture(scope="module")
def stage(checkout: Checkout) -> Checkout:
    write_python(checkout.path / "models" / "times", times(2))
    stage = checkout.write_stage("kept", STAGE)
    stage.deploy()
    return stage


def answers() -> list[float]:
    with (
        EndpointClient(stage="kept", endpoint="many") as many,
        EndpointClient(stage="kept", endpoint="one") as one,
    ):
        return [predict(many), predict(one)]


def stacks() -> dict[str, str]:
    summaries = boto3.client("cloudformation").describe_stacks()["Stacks"]
    return {stack["StackName"]: stack["StackStatus"] for stack in summaries}


def registered() -> list[object]:
    """Return ARNs and settings that stacks refer to by name."""
    sagemaker, scaling = boto3.client("sagemaker"), boto3.client("application-autoscaling")
    return [
        [each["EndpointArn"] for each in sagemaker.list_endpoints()["Endpoints"]],
        scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"],
        scaling.describe_scaling_policies(ServiceNamespace="sagemaker")["ScalingPolicies"],
        boto3.client("codebuild").list_builds()["ids"],
        boto3.client("kms").list_keys()["Keys"],
        boto3.client("iam").list_roles()["Roles"],
    ]


def start_again(stage: Checkout) -> None:
    """Restore the state on the old port."""
    running = lifecycle.up(stage.aws.folder, keep=True, ends_with_caller=True)
    assert running.port == stage.aws.running.port


def test_everything_works_after_down_and_up(
    stage: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answers() == [14, 14]
    before = stacks(), registered()
    lifecycle.down(stage.aws.folder)
    capsys.readouterr()
    start_again(stage)
    assert capsys.readouterr().err.endswith(" UTC, without metrics and log events\n")
    assert (stacks(), registered()) == before
    assert answers() == [14, 14]
    with chdir(stage.path):
        status = run_as("operator", tritonsm, "status", "kept")
    assert status.returncode == 0, status.stderr
    write_python(stage.path / "models" / "times", times(3))
    stage.deploy()
    assert answers() == [21, 21]
    stage.cdk("destroy", "--all", "--force", "--app", "cdk.out")
    assert set(stacks()) == {BOOTSTRAP_STACK}
