"""Builds in a new account, where CodeBuild allows one build in its queue."""

import json

import pytest

from delivery import archives, steps
from delivery.assembly import Assembly
from delivery.deploy import StageDeployment
from local_sagemaker.settings import QUOTAS
from local_sagemaker.tests.support.tiny_models import TIMES, write_python
from tests.local.conftest import Checkout
from tests.local.stage_resources import build_ids

QUEUED = "Builds in queue for the account"
RUNNING = "Concurrently running builds for Linux/Medium environment"
MODELS = ("one", "two", "three")
STAGE = f"""
account: "000000000000"
region: us-east-1
release: "24.09"
endpoints:
  math: {{ models: [{", ".join(MODELS)}], instance_type: ml.m5.xlarge }}
"""


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    """Settings of the local SageMaker: quotas of new accounts, one running and one queued build.

    Source: awslabs/landing-zone-accelerator-on-aws#556.
    """
    return {QUOTAS: json.dumps({RUNNING: 1, QUEUED: 1})}


def test_builds_above_the_queue_quota_are_retried(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout.path / "stages" / "local.yaml").write_text(STAGE)
    for model in MODELS:
        write_python(checkout.path / "models" / model, TIMES.replace("FACTOR", str(len(model))))
    checkout.synthesise()
    monkeypatch.setattr(steps, "POLL_SECONDS", 1)
    session = checkout.aws.session("delivery")
    deployment = StageDeployment(Assembly(checkout.path / "cdk.out", "local"), session)
    archives.build_missing_archives(deployment)
    assert len(build_ids()) == len(MODELS)
