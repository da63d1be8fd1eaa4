"""Sections of docs/runbook.md, each in a stage that is broken as it says, in this order."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import numpy as np
import pytest

from endpoint_client import EndpointClient, EndpointError, UnknownModel
from local_sagemaker.settings import SPEED
from local_sagemaker.tests.support.tiny_models import PLUS_ONE, TIMES
from local_sagemaker.tests.support.waiting import eventually
from tests.local.conftest import Checkout
from tests.local.invoking import call_repeatedly
from tests.local.repository import Repository
from tests.local.runbook import script
from tests.local.shell import paste

CONTENT = """
account: "000000000000"
region: us-east-1
release: "24.09"
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
    update: { strategy: canary, percent: 50, wait_seconds: 600 }
"""
SLOW = PLUS_ONE.replace("execute(self, requests):", "execute(self, requests):\n        SLEEP")
DISK = "DiskUtilization"
OWN = "live-models-modelsbucket"


@pytest.fixture(scope="module", autouse=True)
def _short_minutes() -> Iterator[None]:
    """Have alarms be evaluated every two seconds, and a canary bake for twenty."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SPEED, "30")
        yield


@pytest.fixture(scope="module")
def repository(_short_minutes: None, checkout: Checkout) -> Repository:
    repository = Repository.of(checkout, live=CONTENT)
    repository.write_model("times", TIMES.replace("FACTOR", "2"), answer=14)
    repository.write_model("plus", PLUS_ONE, answer=8)
    slow = SLOW.replace("SLEEP", "__import__('time').sleep(0.3)")
    repository.write_model("slow", slow, answer=8)
    repository.commit("twice")
    repository.deliver()
    return repository


class OnCall:
    """Somebody who pastes the commands of a section for an endpoint of the stage."""

    def __init__(self, repository: Repository, folder: Path) -> None:
        self._repository, self._folder = repository, folder

    def follow(self, heading: str, endpoint: str) -> str:
        """Return what the commands print; none may fail."""
        variables = {"STAGE": "live", "NAME": f"live-{endpoint}", "VARIANT": "AllTraffic"}
        pasted = paste(self._repository, self._folder, script(heading), variables)
        assert pasted.returncode == 0, pasted.stdout
        return pasted.stdout


@pytest.fixture(scope="module")
def on_call(repository: Repository, tmp_path_factory: pytest.TempPathFactory) -> OnCall:
    return OnCall(repository, tmp_path_factory.mktemp("bin"))


@cache
def client(endpoint: str) -> EndpointClient:
    return EndpointClient(stage="live", endpoint=endpoint, catalog_ttl=0)


def ask(model: str, endpoint: str = "math") -> float:
    answer = client(endpoint).invoke(model, {"X": np.array([[7]], np.float32)})
    return float(answer["Y"][0, 0])


def alarm_goes_off(title: str) -> bool:
    alarms: Any = boto3.client("cloudwatch").describe_alarms(StateValue="ALARM")["MetricAlarms"]
    return any(title in alarm["AlarmDescription"] for alarm in alarms)


def instances(endpoint: str) -> int:
    described: Any = boto3.client("sagemaker").describe_endpoint(EndpointName=f"live-{endpoint}")
    return int(described["ProductionVariants"][0]["CurrentInstanceCount"])


def test_a_slow_model_is_seen_and_gets_more_instances(on_call: OnCall) -> None:
    with call_repeatedly(lambda: ask("slow")):
        eventually(lambda: alarm_goes_off("p99 model latency"))
        printed = on_call.follow("LatencyP50, LatencyP99", "math")
    assert "critical: p99 model latency of live-math" in printed
    assert instances("math") == 3


def test_a_full_disk_is_seen_and_gets_new_instances(on_call: OnCall) -> None:
    cloudwatch: Any = boto3.client("cloudwatch")
    place = {"EndpointName": "live-math", "VariantName": "AllTraffic"}
    datum = {
        "MetricName": DISK,
        "Dimensions": [{"Name": name, "Value": value} for name, value in place.items()],
        "Value": 1000.0,  # a mean with what the instances publish themselves
    }

    def fill() -> None:
        cloudwatch.put_metric_data(Namespace="/aws/sagemaker/Endpoints", MetricData=[datum] * 20)

    with call_repeatedly(fill):
        eventually(lambda: alarm_goes_off("critical: storage in use"))
        printed = on_call.follow("Disk", "math")
    assert "critical: storage in use of live-math" in printed
    assert instances("math") == 4


def test_a_catalog_entry_that_was_deleted_is_written_again(on_call: OnCall) -> None:
    ssm: Any = boto3.client("ssm")
    ssm.delete_parameter(Name="/triton/live/math/times")
    with pytest.raises(UnknownModel):
        ask("times")
    printed = on_call.follow("A catalog entry is missing ✔ local", "math")
    assert "math/times" in printed.partition("delivered:")[0]
    assert ask("times") == 14


def test_an_archive_that_was_deleted_is_built_again(on_call: OnCall) -> None:
    archive = client("math").resolve("times").target_model
    s3: Any = boto3.client("s3")
    (bucket,) = (each for each in (b["Name"] for b in s3.list_buckets()["Buckets"]) if OWN in each)
    (key,) = (
        content["Key"]
        for content in s3.list_objects_v2(Bucket=bucket)["Contents"]
        if content["Key"].endswith(f"/{archive}")
    )
    before = s3.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")["ChecksumSHA256"]
    with call_repeatedly(lambda: ask("times")):
        s3.delete_object(Bucket=bucket, Key=key)
        printed = on_call.follow("An archive is missing ✔ local", "math")
    assert f"s3://{bucket}/{key} is not there" in printed
    again = s3.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")["ChecksumSHA256"]
    assert again == before


def test_wrong_answers_are_rolled_back(repository: Repository, on_call: OnCall) -> None:
    repository.write_model("times", TIMES.replace("FACTOR", "3"), answer=12.6)
    repository.commit("thrice, which somebody meant to be less")
    wrong = repository.delivery("deliver", "live")
    assert wrong.returncode == 2, wrong.stdout
    assert ask("times") == 21
    on_call.follow("Wrong answers ✔ local", "math")
    assert ask("times") == 14
    repository.git("revert", "--no-edit", "HEAD")


def test_a_canary_that_fails_leaves_its_alarm_and_its_errors(
    repository: Repository, on_call: OnCall
) -> None:
    repository.edit(
        "models/plus/plus/1/model.py",
        "(self, requests):\n",
        "(self, requests):\n        raise ValueError('no tokenizer')\n",
    )
    repository.commit("raises")
    answered, lost = [], []

    def ask_solo() -> None:
        try:
            answered.append(ask("plus", "solo"))
        except EndpointError as error:
            lost.append(error)

    with call_repeatedly(ask_solo):
        failed = repository.delivery("deliver", "live")
    assert failed.returncode == 1, failed.stdout
    messages = on_call.follow("An update was rolled back by an alarm ✔ local", "solo")
    # Each alarm of the new instances may be the first.
    assert re.search("live-solo-AllTraffic-(Model|Server)Errors-", messages)
    assert "no tokenizer" in messages
    print(f"canary: answered {len(answered)}, lost {len(lost)}")  # noqa: T201
    assert set(answered) == {8}
    assert len(lost) < len(answered)
    assert ask("plus", "solo") == 8
