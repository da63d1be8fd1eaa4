"""Deliveries that change the release or the instances of an endpoint, while clients call it.

The tests depend on each other, in the order of this file.
"""

import json
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import pytest

from endpoint_client import EndpointClient
from local_sagemaker.tests.support.endpoint_caller import EndpointCaller
from local_sagemaker.tests.support.endpoints import wait_in_service
from local_sagemaker.tests.support.tiny_models import times, write_python
from local_sagemaker.tests.support.waiting import eventually
from model_build.__main__ import main as publish
from plan.catalog import Catalog
from tests.catalog_items import delete_entry
from tests.local.commands import run_as
from tests.local.conftest import Checkout, local_target
from tests.local.invoking import call_repeatedly
from tests.local.repository import Repository
from tests.local.rollback_alarms import alarms_of_new_instances
from tests.local.stage_resources import bucket_keys, models_bucket, read_object

pytestmark = pytest.mark.drill

STAGE_FILE = Path("stages", "live.yaml")
STAGE = """
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
ENDPOINT, STAGE_AND_ENDPOINT = "live-math", ("live", "math")
OLD_TARGET, NEW_TARGET = "cpu-25.04", "cpu-24.09"


@pytest.fixture(scope="module")
def repository(checkout: Checkout) -> Repository:
    """A delivered stage, with a model that was published manually."""
    repository = Repository.create(checkout, live=STAGE)
    repository.commit("twice")
    repository.deliver()
    model = write_python(checkout.path.parent / "ten", times(10))
    published = run_as("publisher", publish, "publish", *STAGE_AND_ENDPOINT, str(model))
    assert published.returncode == 0, published.stderr
    return repository


def _catalog() -> dict[str, str]:
    """Return the archive of each model in the catalog."""
    client = EndpointClient(stage="live", endpoint="math", catalog_ttl=0)
    return {model: str(client.resolve(model).target_model) for model in client.models()}


def _archives(repository: Repository) -> dict[str, set[str]]:
    """Return the archives in the bucket, by target."""
    prefixes = {
        target: f"math/{local_target(repository.aws, target)}/"
        for target in (OLD_TARGET, NEW_TARGET)
    }
    return {
        target: {
            key.removeprefix(prefix)
            for key in bucket_keys(models_bucket("live"), prefix)
            if key.endswith(".tar.gz")
        }
        for target, prefix in prefixes.items()
    }


def _call_archives(*archives: str) -> AbstractContextManager[None]:
    """Call the current archive of `times` and `archives` in a loop; fail if a call fails."""
    caller = EndpointCaller(ENDPOINT)
    client = EndpointClient(stage="live", endpoint="math", catalog_ttl=0)

    def call_current() -> None:
        caller.predict(str(client.resolve("times").target_model).removesuffix(".tar.gz"))

    names = [archive.removesuffix(".tar.gz") for archive in archives]
    return call_repeatedly(call_current, *(partial(caller.predict, name) for name in names))


def _endpoint() -> Any:
    return boto3.client("sagemaker").describe_endpoint(EndpointName=ENDPOINT)


def _variant() -> tuple[str, int, bool]:
    """Return instance type and count of the variant, and whether it has a scalable target."""
    sagemaker, scaling = boto3.client("sagemaker"), boto3.client("application-autoscaling")
    endpoint = _endpoint()
    config = sagemaker.describe_endpoint_config(EndpointConfigName=endpoint["EndpointConfigName"])
    count = endpoint["ProductionVariants"][0]["CurrentInstanceCount"]
    targets = scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]
    (variant,) = config["ProductionVariants"]
    return variant["InstanceType"], count, bool(targets)


def test_manually_published_model_stops_a_release_change(repository: Repository) -> None:
    published = _catalog()["ten"]
    assert published.startswith("published/")
    assert EndpointCaller(ENDPOINT).predict(published.removesuffix(".tar.gz")) == 70
    repository.edit(str(STAGE_FILE), '"25.04"', '"24.09"')
    repository.commit("another release")
    output = " ".join(repository.deliver(code=1).split())
    repository.git("revert", "--no-edit", "HEAD")
    assert f"{local_target(repository.aws, NEW_TARGET)}/{published}: version" in output
    assert "of ten was published by hand; deliveries do not build or copy it" in output
    catalog = Catalog(boto3.client("dynamodb"), "live", "math")
    assert catalog.delete_command("ten") in output
    assert "cdk deploy" not in output
    delete_entry(catalog, "ten")


def test_release_instances_and_models_change_in_one_delivery(repository: Repository) -> None:
    # One model changes, another one is removed.
    before = _catalog()
    with _call_archives(before["times"]):  # which scales the endpoint out to the maximum
        eventually(lambda: _variant() == ("ml.m5.xlarge", 2, True))
    wait_in_service(ENDPOINT)
    repository.edit(str(STAGE_FILE), '"25.04"', '"24.09"')
    repository.edit(str(STAGE_FILE), "[times, plus]", "[times]")
    repository.edit(str(STAGE_FILE), "ml.m5.xlarge", "ml.m5.2xlarge")
    repository.write_model("times", times(3), answer=21)
    repository.commit("another release, larger instances, three times, and no plus")
    with _call_archives(*before.values()):
        output = repository.deliver()
    assert "clients may request it while its endpoint moves" in output
    assert f"{ENDPOINT}: variant AllTraffic: the stack is deployed twice" in output
    assert _variant() == ("ml.m5.2xlarge", 2, True)
    after = _catalog()
    assert after.keys() == before.keys() - {"plus"}
    assert after["times"] != before["times"]
    expected, archives = {*before.values(), *after.values()}, _archives(repository)
    assert {name for name in archives[OLD_TARGET] if not name.startswith("published/")} == expected
    assert archives[NEW_TARGET] == expected


def test_rollback_restores_the_instances_without_a_build(repository: Repository) -> None:
    with _call_archives(*_catalog().values()):
        output = repository.run("rollback-stage", "live")
    assert "all archives exist: no build is needed" in output
    assert "the stack is deployed twice" in output
    assert _variant() == ("ml.m5.xlarge", 2, True)
    assert _catalog().keys() == {"times", "plus"}


def test_missing_source_stops_a_release_change(repository: Repository) -> None:
    s3, bucket = boto3.client("s3"), models_bucket("live")
    plus = f"math/{local_target(repository.aws, OLD_TARGET)}/{_catalog()['plus']}"
    manifest = json.loads(read_object(bucket, plus.replace(".tar.gz", ".json")))
    source = f"sources/{manifest['digest']}.zip"
    content = read_object(bucket, source)
    s3.delete_object(Bucket=bucket, Key=source)
    repository.edit(str(STAGE_FILE), '"24.09"', '"25.09"')
    repository.commit("an older release")
    before = _variant()
    with _call_archives(*_catalog().values()):  # without calls, the endpoint would be scaled in
        output = " ".join(repository.deliver(code=1).split())
    assert f"its source s3://{bucket}/{source} was deleted. {ENDPOINT} cannot move" in output
    assert Catalog(None, "live", "math").delete_command("plus") in output
    assert "cdk deploy" not in output
    assert _variant() == before
    s3.put_object(Bucket=bucket, Key=source, Body=content)
    repository.git("revert", "--no-edit", "HEAD")


def test_failed_second_deploy_restores_scaling(repository: Repository) -> None:
    repository.edit(str(STAGE_FILE), "ml.m5.2xlarge", "ml.m5.4xlarge")
    repository.commit("too large")
    catalog, config = _catalog(), _endpoint()["EndpointConfigName"]
    with alarms_of_new_instances(ENDPOINT), _call_archives(*_catalog().values()):
        output = repository.deliver(code=1)
    repository.git("revert", "--no-edit", "HEAD")
    assert f"SageMaker rolled back the update of endpoint {ENDPOINT}:" in " ".join(output.split())
    assert f"{ENDPOINT}: variant AllTraffic scales again, as before" in output
    assert _variant() == ("ml.m5.xlarge", 2, True)
    assert (_catalog(), _endpoint()["EndpointConfigName"]) == (catalog, config)
