"""Deliveries that move an endpoint: to another release, to other instances, while clients ask."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import boto3
import pytest

from endpoint_client import EndpointClient
from local_sagemaker.tests.support.asking import Asker
from local_sagemaker.tests.support.endpoints import in_service
from local_sagemaker.tests.support.tiny_models import PLUS_ONE, TIMES, write_python
from local_sagemaker.tests.support.waiting import eventually
from model_build.__main__ import main as publish
from tests.local.commands import run_as
from tests.local.conftest import Checkout, target_in
from tests.local.invoking import call_repeatedly
from tests.local.repository import Repository
from tests.local.rollback_alarms import errors_published

STAGE = Path("stages", "live.yaml")
LIVE = """
account: "000000000000"
region: us-east-1
release: "25.04"
endpoints:
  math:
    models: [times, plus]
    instance_type: ml.m5.xlarge
    instance_count: 1
    scaling: { min_count: 1, max_count: 2, max_rps: 0.001 }
"""
ENDPOINT, PLACE = "live-math", ("live", "math")
OLD, NEW = "cpu-25.04", "cpu-24.09"


@pytest.fixture(scope="module")
def repository(checkout: Checkout) -> Repository:
    """A stage that is delivered, and has a model that was published by hand since."""
    repository = Repository.of(checkout, live=LIVE)
    repository.write_model("times", TIMES.replace("FACTOR", "2"), answer=14)
    repository.write_model("plus", PLUS_ONE, answer=8)
    repository.commit("twice")
    repository.deliver()
    model = write_python(checkout.path.parent / "ten", TIMES.replace("FACTOR", "10"))
    published = run_as("publisher", publish, "publish", *PLACE, str(model))
    assert published.returncode == 0, published.stderr
    return repository


def _catalog() -> dict[str, str]:
    """What clients are sent to: model -> archive."""
    client = EndpointClient(stage="live", endpoint="math", catalog_ttl=0)
    return {model: str(client.resolve(model).target_model) for model in client.models()}


def _archives(repository: Repository) -> dict[str, set[str]]:
    """The archives of the bucket: target, as of the release's image -> their names."""
    s3 = boto3.client("s3")
    result: dict[str, set[str]] = {}
    for key in (content["Key"] for content in s3.list_objects_v2(Bucket=_bucket())["Contents"]):
        if key.endswith(".tar.gz"):
            _, target, name = key.split("/", 2)
            result.setdefault(target, set()).add(name)
    return {each: result.get(target_in(repository.aws, each), set()) for each in (OLD, NEW)}


def _bucket() -> str:
    names = [each["Name"] for each in boto3.client("s3").list_buckets()["Buckets"]]
    (bucket,) = (name for name in names if name.startswith("live-models-modelsbucket"))
    return bucket


def _asked_all_the_while(*archives: str) -> AbstractContextManager[None]:
    """Ask whatever the catalog names, and these archives, in a loop; fail if one call failed."""
    asker = Asker(ENDPOINT)
    client = EndpointClient(stage="live", endpoint="math", catalog_ttl=0)

    def every_model() -> None:
        asker.ask(str(client.resolve("times").target_model).removesuffix(".tar.gz"))

    named = [archive.removesuffix(".tar.gz") for archive in archives]
    return call_repeatedly(every_model, *(_asking(asker, each) for each in named))


def _asking(asker: Asker, model: str) -> Callable[[], float]:
    return lambda: asker.ask(model)


def _endpoint() -> Any:
    return boto3.client("sagemaker").describe_endpoint(EndpointName=ENDPOINT)


def _variant() -> tuple[str, int, bool]:
    """Instance type and count of the one variant, and whether it is registered for scaling."""
    sagemaker, scaling = boto3.client("sagemaker"), boto3.client("application-autoscaling")
    endpoint = _endpoint()
    config = sagemaker.describe_endpoint_config(EndpointConfigName=endpoint["EndpointConfigName"])
    count = endpoint["ProductionVariants"][0]["CurrentInstanceCount"]
    targets = scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]
    (variant,) = config["ProductionVariants"]
    return variant["InstanceType"], count, bool(targets)


def test_what_was_published_by_hand_stops_a_move_before_it_begins(repository: Repository) -> None:
    published = _catalog()["ten"]
    assert published.startswith("published/")
    assert Asker(ENDPOINT).ask(published.removesuffix(".tar.gz")) == 70
    repository.edit(str(STAGE), '"25.04"', '"24.09"')
    repository.commit("another release")
    message = " ".join(repository.deliver(code=1).split())
    repository.git("revert", "--no-edit", "HEAD")
    assert f"{target_in(repository.aws, NEW)}/{published}: version" in message
    assert "of ten was published by hand, and deliveries neither build nor copy it" in message
    name = "/triton/live/math/ten"
    assert f"aws ssm delete-parameter --name {name}" in message
    assert "cdk deploy" not in message
    boto3.client("ssm").delete_parameter(Name=name)


def test_release_instances_and_models_change_at_once_and_no_call_fails(
    repository: Repository,
) -> None:
    """One model changes, another leaves."""
    before = _catalog()
    with _asked_all_the_while(
        before["times"]
    ):  # by which it is scaled to the most that there may be
        eventually(lambda: _variant() == ("ml.m5.xlarge", 2, True))
    in_service(ENDPOINT)
    repository.edit(str(STAGE), '"25.04"', '"24.09"')
    repository.edit(str(STAGE), "[times, plus]", "[times]")
    repository.edit(str(STAGE), "ml.m5.xlarge", "ml.m5.2xlarge")
    repository.write_model("times", TIMES.replace("FACTOR", "3"), answer=21)
    repository.commit("another release, larger instances, thrice, and no plus")
    with _asked_all_the_while(*before.values()):
        message = repository.deliver()
    assert "clients may request it while its endpoint moves" in message
    assert f"{ENDPOINT}: variant AllTraffic: the stack is deployed twice" in message
    assert _variant() == ("ml.m5.2xlarge", 2, True)
    after = _catalog()
    assert after.keys() == before.keys() - {"plus"}
    assert after["times"] != before["times"]
    everything = {*before.values(), *after.values()}
    published = {
        archive for archive in _archives(repository)[OLD] if archive.startswith("published/")
    }
    assert _archives(repository) == {OLD: everything | published, NEW: everything}


def test_a_rollback_builds_nothing_and_brings_the_instances_back(repository: Repository) -> None:
    with _asked_all_the_while(*_catalog().values()):
        message = repository.deliver("rollback-stage")
    assert "all archives exist: no build is needed" in message
    assert "the stack is deployed twice" in message
    assert _variant() == ("ml.m5.xlarge", 2, True)
    assert _catalog().keys() == {"times", "plus"}


def test_a_model_whose_source_is_gone_stops_a_move_before_it_begins(
    repository: Repository,
) -> None:
    s3, bucket = boto3.client("s3"), _bucket()
    plus = f"math/{target_in(repository.aws, OLD)}/{_catalog()['plus']}"
    digest = _json(s3, bucket, plus.replace(".tar.gz", ".json"))["digest"]
    source = f"sources/{digest}.zip"
    content = s3.get_object(Bucket=bucket, Key=source)["Body"].read()
    s3.delete_object(Bucket=bucket, Key=source)
    repository.edit(str(STAGE), '"24.09"', '"25.09"')
    repository.commit("an older release")
    before = _variant()
    with _asked_all_the_while(*_catalog().values()):  # or it would be scaled in
        message = " ".join(repository.deliver(code=1).split())
    assert f"its source s3://{bucket}/{source} was deleted. {ENDPOINT} cannot move" in message
    assert "aws ssm delete-parameter --name /triton/live/math/plus" in message
    assert "cdk deploy" not in message
    assert _variant() == before
    s3.put_object(Bucket=bucket, Key=source, Body=content)
    repository.git("revert", "--no-edit", "HEAD")


def _json(s3: Any, bucket: str, key: str) -> Any:
    return json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read())


def test_where_the_second_deploy_fails_the_variant_scales_again(repository: Repository) -> None:
    repository.edit(str(STAGE), "ml.m5.2xlarge", "ml.m5.4xlarge")
    repository.commit("too large")
    catalog, config = _catalog(), _endpoint()["EndpointConfigName"]
    with errors_published(ENDPOINT), _asked_all_the_while(*_catalog().values()):
        message = repository.deliver(code=1)
    repository.git("revert", "--no-edit", "HEAD")
    assert f"SageMaker rolled back the update of endpoint {ENDPOINT}:" in " ".join(message.split())
    assert f"{ENDPOINT}: variant AllTraffic scales again, as before" in message
    assert _variant() == ("ml.m5.xlarge", 2, True)
    assert (_catalog(), _endpoint()["EndpointConfigName"]) == (catalog, config)
