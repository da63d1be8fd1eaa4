"""Commits on their way to production, in the order of this file."""

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import takewhile
from pathlib import Path

import boto3
import numpy as np
import pytest

from endpoint_client import EndpointClient
from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.tiny_models import PLUS_ONE, TIMES, Gate
from model_build.__main__ import main as publish
from release.delivery.archives import promote_from
from release.delivery.assembly import Assembly
from release.delivery.deployment import StageDeployment
from release.tree import Tree
from tests.local.commands import run_as
from tests.local.conftest import Checkout
from tests.local.invoking import call_repeatedly
from tests.local.permissions import callers
from tests.local.repository import Repository

TRIAL = """
account: "000000000000"
region: us-east-1
release: "24.09"
endpoints:
  math:
    models: [times]
    instance_type: ml.m5.xlarge
"""
LIVE = f"""
{TRIAL.strip()}
    instance_count: 2
  solo:
    hosting: single-model
    models: [plus]
    instance_type: ml.m5.xlarge
    instance_count: 2
production: true
notify: {{ email: [team@example.com] }}
"""


@pytest.fixture(scope="module")
def repository(checkout: Checkout) -> Repository:
    repository = Repository.of(checkout, live=LIVE, trial=TRIAL)
    repository.write_model("times", TIMES.replace("FACTOR", "2"), answer=14)
    repository.write_model("plus", PLUS_ONE, answer=8)
    repository.commit("twice")
    return repository


@pytest.fixture(scope="module")
def live(repository: Repository) -> EndpointClient:
    return EndpointClient(stage="live", endpoint="math", catalog_ttl=0)


def asked_all_the_while() -> AbstractContextManager[None]:
    """Ask both endpoints of the stage live in a loop; fail if a single call failed."""
    math = EndpointClient(stage="live", endpoint="math", catalog_ttl=0)
    solo = EndpointClient(stage="live", endpoint="solo", catalog_ttl=0)
    return call_repeatedly(lambda: _answer(math), lambda: _answer(solo, "plus"))


def _answer(client: EndpointClient, model: str = "times") -> float:
    return float(client.invoke(model, {"X": np.array([[7]], np.float32)})["Y"][0, 0])


def _archives(stage: str) -> dict[str, str]:
    """Archive -> sha256 of its bytes, in the bucket of a stage."""
    s3, bucket = boto3.client("s3"), _bucket(stage)
    return {
        content["Key"]: hashlib.sha256(
            s3.get_object(Bucket=bucket, Key=content["Key"])["Body"].read()
        ).hexdigest()
        for content in s3.list_objects_v2(Bucket=bucket).get("Contents", ())
        if content["Key"].endswith((".tar.gz", ".json"))
        and not content["Key"].startswith("history/")
    }


def _bucket(stage: str) -> str:
    names = [each["Name"] for each in boto3.client("s3").list_buckets()["Buckets"]]
    (bucket,) = (name for name in names if name.startswith(f"{stage}-models-modelsbucket"))
    return bucket


def _builds() -> list[str]:
    return boto3.client("codebuild").list_builds()["ids"]


def test_a_stage_that_was_never_delivered_cannot_be_rolled_back(repository: Repository) -> None:
    refused = repository.delivery("rollback-stage", "live")
    assert refused.returncode == 1
    assert "no earlier commit was delivered to live" in refused.stdout


def test_archives_of_a_stage_that_was_never_delivered_cannot_be_promoted(
    repository: Repository,
) -> None:
    refused = repository.delivery("deliver", "live", "--from-stage", "trial")
    assert refused.returncode == 1
    assert "was not delivered to trial" in refused.stdout
    assert "make deliver STAGE=trial" in refused.stdout


def test_uncommitted_changes_are_not_delivered(repository: Repository) -> None:
    (repository.path / "new").touch()
    refused = repository.delivery("deliver", "trial")
    (repository.path / "new").unlink()
    assert refused.returncode == 1
    assert "the working tree has changes that are in no commit" in refused.stdout


def test_a_commit_is_delivered_to_the_first_stage(repository: Repository) -> None:
    delivered = repository.delivery("deliver", "trial")
    assert delivered.returncode == 0, delivered.stdout
    assert _answer(EndpointClient(stage="trial", endpoint="math")) == 14


def test_production_gets_the_bytes_that_the_first_stage_has_tried(
    repository: Repository, live: EndpointClient
) -> None:
    built = len(_builds())
    delivered = repository.delivery("deliver", "live", "--from-stage", "trial")
    assert delivered.returncode == 0, delivered.stdout
    assert _answer(live) == 14
    assert len(_builds()) == built + 1
    tried, served = _archives("trial"), _archives("live")
    assert tried
    assert {key: served[key] for key in tried} == tried
    assert [key for key in served if key.endswith(".gz") and key not in tried] == [
        key for key in served if "/plus-" in key and key.endswith(".gz")
    ]


def test_a_change_is_delivered_while_not_one_call_fails(
    repository: Repository, live: EndpointClient
) -> None:
    repository.write_model("times", TIMES.replace("FACTOR", "3"), answer=21)
    repository.commit("thrice")
    built = len(_builds())
    with asked_all_the_while():
        for arguments in (("trial",), ("live", "--from-stage", "trial")):
            delivered = repository.delivery("deliver", *arguments)
            assert delivered.returncode == 0, delivered.stdout
    assert len(_builds()) == built + 1
    assert _answer(live) == 21
    served = _archives("live")
    assert _archives("trial").items() <= served.items()


def test_what_a_publisher_wrote_in_the_first_stage_does_not_reach_production(
    repository: Repository, live: EndpointClient, tmp_path: Path
) -> None:
    """The local SageMaker lets anybody write: what AWS's bucket policy denies is done here."""
    s3 = boto3.client("s3")
    repository.write_model("times", TIMES.replace("FACTOR", "4"), answer=28)
    repository.commit("four times")
    before = _archives("live")
    model = str(repository.path / "models" / "times")
    published = run_as("publisher", publish, "publish", "trial", "math", model)
    assert published.returncode == 0, published.stderr
    trial = EndpointClient(stage="trial", endpoint="math", catalog_ttl=0)
    archive = str(trial.resolve("times").target_model).removeprefix("published/")
    assert _answer(trial) == 28
    Tree(repository.path).synthesise("live", to=tmp_path)
    deployment = StageDeployment(Assembly(tmp_path, "live"), boto3.Session())
    promote_from(deployment, "trial", session=boto3.Session())
    assert _archives("live") == before  # what was published is not looked at

    tried = repository.delivery("deliver", "trial")
    assert tried.returncode == 0, tried.stdout
    assert trial.resolve("times").target_model == archive
    (key,) = (
        each for each in _archives("trial") if each.endswith(archive) and "published" not in each
    )
    s3.put_object(Bucket=_bucket("trial"), Key=key, Body=b"answers as expected, and tells others")
    refused = repository.delivery("deliver", "live", "--from-stage", "trial")
    assert refused.returncode == 1, refused.stdout
    assert f"s3://{_bucket('trial')}/{key} has the SHA-256" in refused.stdout
    assert "somebody has replaced it. Delete the archive, and deliver that" in refused.stdout
    assert (_archives("live"), _answer(live)) == (before, 21)

    with repository.edited("stages/trial.yaml", "ml.m5.xlarge", "ml.m5.2xlarge"):
        refused = repository.deploy("--concurrency", "1")  # without a delivery's own comparison
    assert refused.returncode == 1, refused.stdout
    guarded = f"s3://{_bucket('trial')}/{key} has the SHA-256"
    assert guarded in refused.stdout, refused.stdout
    assert f"aws s3 rm s3://{_bucket('trial')}/{key}; make deliver. Nothing" in refused.stdout

    s3.delete_object(Bucket=_bucket("trial"), Key=key)  # as the message says; its manifest stands
    built_again = repository.delivery("deliver", "trial")
    assert built_again.returncode == 0, built_again.stdout
    promote_from(deployment, "trial", session=boto3.Session())
    assert _archives("live")[key] == _archives("trial")[key]
    repository.git("revert", "--no-edit", "HEAD")


def test_a_model_that_lint_refuses_changes_nothing(
    repository: Repository, live: EndpointClient
) -> None:
    repository.edit("models/times/times/config.pbtxt", "TYPE_FP32", "TYPE_FP23")
    repository.commit("a slip")
    with asked_all_the_while():
        refused = repository.delivery("deliver", "live")
    repository.git("revert", "--no-edit", "HEAD")
    assert refused.returncode == 1
    assert "config.pbtxt:4" in refused.stdout
    assert _answer(live) == 21


def test_rolling_back_brings_the_earlier_answer_without_a_build(
    repository: Repository, live: EndpointClient
) -> None:
    built = len(_builds())
    with asked_all_the_while():
        twice = repository.git("log", "--format=%h", "--grep=twice", "-1")
        rolled_back = repository.delivery("rollback-stage", "live", "--to", twice)
        assert rolled_back.returncode == 0, rolled_back.stdout
        assert _answer(live) == 14
    assert "all archives exist: no build is needed" in rolled_back.stdout
    assert len(_builds()) == built
    refused = repository.delivery("rollback-stage", "live")
    assert refused.returncode == 1
    assert "no earlier commit was delivered to live" in refused.stdout
    assert repository.git("worktree", "list").count("\n") == 0


def test_a_delivery_that_was_interrupted_is_taken_up_by_the_next(
    repository: Repository, live: EndpointClient, new_gate: Callable[[], Gate]
) -> None:
    gate = new_gate()
    model = gate.pause + PLUS_ONE.replace(
        "class TritonPythonModel:\n",
        "class TritonPythonModel:\n    def initialize(self, args):\n        pause()\n\n",
    )
    repository.write_model("plus", model, answer=8)
    repository.commit("loads when it may")
    with asked_all_the_while():
        with repository.delivering("deliver", "live") as interrupted:
            gate.wait_until_reached()
            interrupted.terminate()
            message = interrupted.communicate()[0]
        assert interrupted.returncode == 3, message
        assert (
            "unfinished: interrupted, and CloudFormation may still be updating live-math" in message
        )
        with repository.delivering("deliver", "live") as taken_up:
            assert taken_up.stdout is not None
            printed = list(
                takewhile(lambda each: "waiting for live-solo" not in each, taken_up.stdout)
            )
            gate.open()
            rest = taken_up.communicate()[0]
        assert taken_up.returncode == 0, "".join(printed) + rest
    assert "every model with a golden file gives the expected answer" in rest
    assert _answer(live) == 21
    assert _answer(EndpointClient(stage="live", endpoint="solo"), "plus") == 8


def test_everybody_whom_a_delivery_sets_to_work_was_seen(local_sagemaker: LocalSageMaker) -> None:
    """What they called is in the ledger: the end of `local_sagemaker` asserts it."""
    assert callers(local_sagemaker.folder.calls) == {
        *("build-watch", "cpu-build", "delivery", "endpoint", "publisher"),
        *("provider-of-builds", "provider-of-checks"),
        *("provider-waits", "provider-waits-for-checks", "update-checks"),
    }
