"""Deliveries of commits to a first stage and to production.

The tests depend on each other, in the order of this file.
"""

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import boto3
import pytest

from delivery.archives import promote_archives
from delivery.assembly import Assembly
from delivery.deploy import StageDeployment
from endpoint_client import EndpointClient
from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.tiny_models import PLUS_ONE, Barrier, times
from model_build.__main__ import main as publish
from release import checkout as checkouts
from tests.local.commands import run_as
from tests.local.conftest import Checkout, stage_file
from tests.local.invoking import call_repeatedly, predict
from tests.local.permissions import principal_names
from tests.local.repository import Repository, pause_on_load
from tests.local.stage_resources import bucket_keys, build_ids, models_bucket, read_object

TRIAL_STAGE = stage_file("""
endpoints:
  math:
    models: [times]
    instance_type: ml.m5.xlarge
""")
LIVE_STAGE = f"""
{TRIAL_STAGE.strip()}
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
    repository = Repository.create(checkout, live=LIVE_STAGE, trial=TRIAL_STAGE)
    repository.commit("twice")
    return repository


@pytest.fixture(scope="module")
def live(repository: Repository) -> EndpointClient:
    return EndpointClient(stage="live", endpoint="math", catalog_ttl=0)


def call_live_endpoints() -> AbstractContextManager[None]:
    """Call both endpoints of the stage live in a loop; fail if a call fails."""
    math = EndpointClient(stage="live", endpoint="math", catalog_ttl=0)
    solo = EndpointClient(stage="live", endpoint="solo", catalog_ttl=0)
    return call_repeatedly(lambda: predict(math), lambda: predict(solo, "plus"))


def _archives(stage: str) -> dict[str, str]:
    """Return the keys of archives and manifests of a stage with the SHA-256 of their content."""
    bucket = models_bucket(stage)
    return {
        key: hashlib.sha256(read_object(bucket, key)).hexdigest()
        for key in bucket_keys(bucket)
        if key.endswith((".tar.gz", ".json")) and not key.startswith("history/")
    }


def test_archives_of_an_undelivered_stage_cannot_be_promoted(repository: Repository) -> None:
    output = repository.deliver("--from-stage", "trial", stage="live", code=1)
    assert "was not delivered to trial" in output
    assert "make deliver STAGE=trial" in output


def test_commit_is_delivered_to_the_first_stage(repository: Repository) -> None:
    repository.deliver(stage="trial")
    assert predict(EndpointClient(stage="trial", endpoint="math")) == 14


def test_archives_are_promoted_to_production(repository: Repository, live: EndpointClient) -> None:
    build_count = len(build_ids())
    repository.deliver("--from-stage", "trial", stage="live")
    assert predict(live) == 14
    assert len(build_ids()) == build_count + 1  # of plus, which the stage trial does not have
    trial_archives, live_archives = _archives("trial"), _archives("live")
    assert trial_archives
    assert trial_archives.items() <= live_archives.items()
    new_keys = live_archives.keys() - trial_archives.keys()
    assert all("/plus-" in key for key in new_keys)


def test_change_is_delivered_without_a_failed_call(
    repository: Repository, live: EndpointClient
) -> None:
    repository.write_model("times", times(3), answer=21)
    repository.commit("three times")
    build_count = len(build_ids())
    with call_live_endpoints():
        repository.deliver(stage="trial")
        repository.deliver("--from-stage", "trial", stage="live")
    assert len(build_ids()) == build_count + 1
    assert predict(live) == 21
    assert _archives("trial").items() <= _archives("live").items()


def test_replaced_archive_is_not_promoted(
    repository: Repository, live: EndpointClient, tmp_path: Path
) -> None:
    # The local SageMaker does not enforce the bucket policy, so the test can replace an archive.
    s3 = boto3.client("s3")
    repository.write_model("times", times(4), answer=28)
    repository.commit("four times")
    before = _archives("live")
    model = str(repository.path / "models" / "times")
    published = run_as("publisher", publish, "publish", "trial", "math", model)
    assert published.returncode == 0, published.stderr
    trial = EndpointClient(stage="trial", endpoint="math", catalog_ttl=0)
    archive = str(trial.resolve("times").target_model).removeprefix("published/")
    assert predict(trial) == 28
    checkouts.Checkout(repository.path).synthesise("live", to=tmp_path)
    deployment = StageDeployment(Assembly(tmp_path, "live"), boto3.Session())
    promote_archives(deployment, "trial", session=boto3.Session())
    assert _archives("live") == before  # only archives of deliveries are promoted

    repository.deliver(stage="trial")
    assert trial.resolve("times").target_model == archive
    (key,) = (key for key in _archives("trial") if key.endswith(archive) and "published" not in key)
    bucket = models_bucket("trial")
    s3.put_object(Bucket=bucket, Key=key, Body=b"a replaced archive")
    output = repository.deliver("--from-stage", "trial", stage="live", code=1)
    assert f"s3://{bucket}/{key} has no SHA-256" in output
    assert "the archive was replaced. Delete it" in output
    assert (_archives("live"), predict(live)) == (before, 21)

    s3.delete_object(Bucket=bucket, Key=key)  # as the message says; the manifest remains
    repository.deliver(stage="trial")
    promote_archives(deployment, "trial", session=boto3.Session())
    assert _archives("live")[key] == _archives("trial")[key]
    repository.git("revert", "--no-edit", "HEAD")


def test_invalid_model_changes_nothing(repository: Repository, live: EndpointClient) -> None:
    repository.edit("models/times/times/config.pbtxt", "TYPE_FP32", "TYPE_FP23")
    repository.commit("an invalid data type")
    with call_live_endpoints():
        output = repository.deliver(stage="live", code=1)
    repository.git("revert", "--no-edit", "HEAD")
    assert "config.pbtxt:4" in output
    assert predict(live) == 21


def test_rollback_restores_the_commit_without_a_build(
    repository: Repository, live: EndpointClient
) -> None:
    build_count = len(build_ids())
    commit = repository.git("log", "--format=%h", "--grep=twice", "-1")
    repository.git("checkout", "--quiet", commit)
    output = repository.deliver(stage="live", code=1)
    repository.git("checkout", "--quiet", "-")
    assert "this delivery would revert it" in output
    with call_live_endpoints():
        output = repository.run("rollback-stage", "live", "--to", commit)
        assert predict(live) == 14
    assert "all archives exist: no build is needed" in output
    assert len(build_ids()) == build_count
    output = repository.run("rollback-stage", "live", code=1)
    assert "no earlier release was delivered to live" in output


def test_next_delivery_resumes_an_interrupted_delivery(
    repository: Repository, live: EndpointClient, new_barrier: Callable[[], Barrier]
) -> None:
    barrier = new_barrier()
    live_repository = replace(repository, stage="live")
    repository.write_model("plus", pause_on_load(barrier, PLUS_ONE), answer=8, loads=False)
    repository.commit("waits for the barrier while loading")
    with call_live_endpoints():
        with live_repository.start_delivery() as interrupted:
            barrier.wait_until_reached()
            interrupted.terminate()
            output = interrupted.communicate()[0]
        assert interrupted.returncode == 3, output
        assert (
            "unfinished: interrupted, and CloudFormation may still be updating live-catalog"
            in output
        )
        with live_repository.start_delivery() as resumed:
            assert resumed.stdout is not None
            lines = list(
                takewhile(lambda line: "waiting for live-solo" not in line, resumed.stdout)
            )
            barrier.open()
            output = resumed.communicate()[0]
        assert resumed.returncode == 0, "".join(lines) + output
    assert "every model with a golden file gives the expected answer" in output
    assert predict(live) == 21
    assert predict(EndpointClient(stage="live", endpoint="solo"), "plus") == 8


def test_calls_of_all_principals_are_recorded(local_sagemaker: LocalSageMaker) -> None:
    # The fixture local_sagemaker checks that delivery/permissions/principals lists each call; here,
    # that each of these principals made calls.
    assert principal_names(local_sagemaker.folder.calls) == {
        *("build-watch", "catalog-writer", "cpu-build", "delivery", "endpoint", "publisher"),
        *("provider-of-builds", "provider-of-catalogs", "provider-of-checks"),
        *("provider-waits", "provider-waits-for-checks", "update-checks"),
    }
