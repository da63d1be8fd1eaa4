"""Commands of docs/runbook.md, run after the fault that each section describes.

The tests depend on each other, in the order of this file.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import pytest

from endpoint_client import EndpointClient, EndpointError, UnknownModel
from local_sagemaker.settings import SPEED
from local_sagemaker.tests.support.tiny_models import PLUS_ONE, times
from local_sagemaker.tests.support.waiting import eventually
from plan.catalog import Catalog
from tests.catalog_items import delete_entry
from tests.local.conftest import Checkout, stage_file
from tests.local.invoking import call_repeatedly, predict
from tests.local.repository import Repository
from tests.local.shell import run_script
from tests.local.stage_resources import bucket_keys, models_bucket
from tests.runbook import script

pytestmark = pytest.mark.drill

STAGE = stage_file("""
production: true
notify: { email: [team@example.com] }
endpoints:
  math:
    models: [times, slow]
    instance_type: ml.m5.xlarge
    instance_count: 2
    alarms: { model_latency_p99_ms: { critical: 100 } }
  solo:
    hosting: single-model
    models: [plus]
    instance_type: ml.m5.xlarge
    instance_count: 2
    update: { strategy: canary, percent: 50, wait_seconds: 1800 }
""")
SLOW = PLUS_ONE.replace("execute(self, requests):", "execute(self, requests):\n        SLEEP")
SETTINGS = {SPEED: "30"}
"""Settings of the local SageMaker: an hour takes two minutes."""


@pytest.fixture(scope="module")
def repository(checkout: Checkout) -> Repository:
    repository = Repository.create(checkout, live=STAGE)
    slow = SLOW.replace("SLEEP", "__import__('time').sleep(0.3)")
    repository.write_model("slow", slow, answer=8)
    repository.commit("twice")
    repository.deliver()
    return repository


class Operator:
    """An operator who runs the commands of the runbook for an endpoint of the stage."""

    def __init__(self, repository: Repository, folder: Path) -> None:
        self._repository, self._folder = repository, folder

    def run_section(self, heading: str, endpoint: str) -> str:
        """Run the commands of a section, which must succeed; return their output."""
        variables = {"STAGE": "live", "NAME": f"live-{endpoint}", "VARIANT": "AllTraffic"}
        return run_script(self._repository, self._folder, script(heading), variables)


@pytest.fixture(scope="module")
def operator(repository: Repository, tmp_path_factory: pytest.TempPathFactory) -> Operator:
    return Operator(repository, tmp_path_factory.mktemp("bin"))


@cache
def client(endpoint: str) -> EndpointClient:
    return EndpointClient(stage="live", endpoint=endpoint, catalog_ttl=0)


def call(model: str, endpoint: str = "math") -> float:
    return predict(client(endpoint), model)


def is_in_alarm(title: str) -> bool:
    alarms: Any = boto3.client("cloudwatch").describe_alarms(StateValue="ALARM")["MetricAlarms"]
    return any(title in alarm["AlarmDescription"] for alarm in alarms)


def instances(endpoint: str) -> int:
    description: Any = boto3.client("sagemaker").describe_endpoint(EndpointName=f"live-{endpoint}")
    return int(description["ProductionVariants"][0]["CurrentInstanceCount"])


def test_slow_model_gets_more_instances(operator: Operator) -> None:
    with call_repeatedly(lambda: call("slow")):
        eventually(lambda: is_in_alarm("p99 model latency"))
        output = operator.run_section("LatencyP50, LatencyP99", "math")
    assert "critical: p99 model latency of live-math" in output
    assert instances("math") == 4


def test_deleted_alarm_is_created_by_the_command_of_status(
    repository: Repository, tmp_path: Path
) -> None:
    cloudwatch: Any = boto3.client("cloudwatch")

    def alarms() -> dict[str, list[str]]:
        pages = cloudwatch.get_paginator("describe_alarms").paginate(AlarmNamePrefix="live-math")
        all_alarms = (alarm for page in pages for alarm in page["MetricAlarms"])
        return {alarm["AlarmName"]: alarm["AlarmActions"] for alarm in all_alarms}

    def differences() -> list[dict[str, str]]:
        report = run_script(repository, tmp_path, "tritonsm status live --json")
        return list(json.loads(report)["differences"])

    before = alarms()
    name = next(name for name, actions in before.items() if actions)
    cloudwatch.delete_alarms(AlarmNames=[name])
    (difference,) = differences()
    assert (difference["subject"], difference["text"]) == (name, "the alarm was deleted")
    run_script(repository, tmp_path, difference["command"])
    assert alarms() == before
    assert differences() == []


def test_deleted_catalog_entry_is_restored(operator: Operator) -> None:
    delete_entry(Catalog(boto3.client("dynamodb"), "live", "math"), "times")
    with pytest.raises(UnknownModel):
        call("times")
    output = operator.run_section("A catalog entry is missing", "math")
    assert "math/times" in output.partition("delivered:")[0]
    assert call("times") == 14


def test_deleted_archive_is_rebuilt(operator: Operator) -> None:
    archive = client("math").resolve("times").target_model
    s3: Any = boto3.client("s3")
    bucket = models_bucket("live")
    (key,) = (key for key in bucket_keys(bucket) if key.endswith(f"/{archive}"))
    before = s3.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")["ChecksumSHA256"]
    with call_repeatedly(lambda: call("times")):
        s3.delete_object(Bucket=bucket, Key=key)
        output = operator.run_section("An archive is missing", "math")
    assert f"s3://{bucket}/{key} does not exist" in output
    after = s3.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")["ChecksumSHA256"]
    assert after == before


def test_unexpected_answers_are_rolled_back(repository: Repository, operator: Operator) -> None:
    repository.write_model("times", times(3), answer=999)
    repository.commit("three times, with a wrong golden file")
    repository.deliver(code=2)
    assert call("times") == 21
    operator.run_section("Wrong answers", "math")
    assert call("times") == 14
    repository.git("revert", "--no-edit", "HEAD")


def test_failed_canary_shows_its_alarm_and_errors(
    repository: Repository, operator: Operator
) -> None:
    repository.edit(
        "models/plus/plus/1/model.py",
        "(self, requests):\n",
        "(self, requests):\n        raise ValueError('no tokenizer')\n",
    )
    repository.commit("an error in plus")
    outputs, failures = [], []

    def call_solo() -> None:
        try:
            outputs.append(call("plus", "solo"))
        except EndpointError as error:
            failures.append(error)

    with call_repeatedly(call_solo):
        repository.deliver(code=1)
    output = operator.run_section("An update was rolled back by an alarm", "solo")
    # Either alarm of the new instances may be the first.
    assert re.search("live-solo-AllTraffic-(Model|Server)Errors-", output)
    assert "no tokenizer" in output
    assert set(outputs) == {8}
    assert len(failures) < len(outputs)
    assert call("plus", "solo") == 8
