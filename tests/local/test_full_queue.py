"""A new account's CodeBuild, which refuses more than one build in its queue."""

import json
from collections.abc import Iterator

import boto3
import pytest

from local_sagemaker.settings import QUOTAS
from local_sagemaker.tests.support.running import LocalSageMaker, local_sagemaker_in
from local_sagemaker.tests.support.tiny_models import TIMES, write_python
from release.delivery import archives, steps
from release.delivery.assembly import Assembly
from release.delivery.deployment import StageDeployment
from tests.local.conftest import Checkout
from tests.local.permissions import beyond_the_ledger

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
def local_sagemaker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSageMaker]:
    """An account where one build runs and one waits, with ten executions of Lambda.

    Both are of new accounts: awslabs/landing-zone-accelerator-on-aws#249 and #556.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(
            QUOTAS,
            json.dumps(
                {RUNNING: 1, "Builds in queue for the account": 1, "Concurrent executions": 10}
            ),
        )
        with local_sagemaker_in(tmp_path_factory.mktemp("local_sagemaker")) as aws:
            yield aws
            assert list(beyond_the_ledger(aws.folder.calls)) == []


def test_archives_that_the_queue_has_no_place_for_are_built_when_it_has(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout.path / "stages" / "local.yaml").write_text(STAGE)
    for model in MODELS:
        write_python(checkout.path / "models" / model, TIMES.replace("FACTOR", str(len(model))))
    checkout.synthesise()
    monkeypatch.setattr(steps, "POLL_SECONDS", 1)
    session = checkout.aws.session("delivery")
    archives.build(StageDeployment(Assembly(checkout.path / "cdk.out", "local"), session))
    assert len(boto3.client("codebuild").list_builds()["ids"]) == len(MODELS)


def test_functions_are_held_to_the_account_s_quota(local_sagemaker: LocalSageMaker) -> None:
    limits = boto3.client("lambda").get_account_settings()["AccountLimit"]
    assert limits["ConcurrentExecutions"] == 10
