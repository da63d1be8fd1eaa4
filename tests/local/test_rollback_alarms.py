"""The update that mends an endpoint, while an alarm tells of what it mends."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest

from local_sagemaker.settings import SPEED
from local_sagemaker.tests.support.tiny_models import TIMES, write_python
from local_sagemaker.tests.support.waiting import eventually
from tests.local.conftest import Checkout
from tests.local.rollback_alarms import errors_of_present_instances, rollback_alarms

STAGE, ENDPOINT = Path("stages", "mended.yaml"), "mended-math"
CONTENT = """
account: "000000000000"
region: us-east-1
release: "24.09"
endpoints:
  math:
    models: [times]
    instance_type: ml.m5.xlarge
    update: { strategy: rolling, percent: 50, wait_seconds: 0 }
    server: { log_verbose: 0 }
"""


@pytest.fixture(scope="module")
def _slow_minutes() -> Iterator[None]:
    """Have an alarm be evaluated every fifteen seconds: later than an update begins."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SPEED, "4")
        yield


@pytest.fixture(scope="module")
def mended(_slow_minutes: None, checkout: Checkout) -> Checkout:
    (checkout.path / STAGE).write_text(CONTENT)
    write_python(checkout.path / "models" / "times", TIMES.replace("FACTOR", "2"))
    mended = replace(checkout, stage="mended")
    deployed = mended.deploy()
    assert deployed.returncode == 0, deployed.stdout
    return mended


def test_the_state_of_an_alarm_before_an_update_does_not_roll_it_back(mended: Checkout) -> None:
    """The metrics of the configuration that serves are bad before, during and after it."""
    old, cloudwatch = config(), boto3.client("cloudwatch")

    def is_in_alarm() -> bool:
        return "ALARM" in {alarm["StateValue"] for alarm in rollback_alarms(cloudwatch, ENDPOINT)}

    with errors_of_present_instances(ENDPOINT):
        eventually(is_in_alarm)
        mended.edit(str(STAGE), "log_verbose: 0", "log_verbose: 1")
        deployed = mended.deploy()
    assert deployed.returncode == 0, deployed.stdout
    assert config() != old
    alarms = rollback_alarms(cloudwatch, ENDPOINT)
    assert len(alarms) == 2
    assert all(alarm["AlarmName"].endswith(config()) for alarm in alarms)


def test_no_metrics_are_charged_that_the_stage_did_not_ask_for(mended: Checkout) -> None:
    sagemaker: Any = boto3.client("sagemaker")
    described = sagemaker.describe_endpoint_config(EndpointConfigName=config())
    assert described["MetricsConfig"]["EnableDetailedObservability"] is False


def config() -> str:
    """The configuration that the endpoint serves with."""
    sagemaker: Any = boto3.client("sagemaker")
    return str(sagemaker.describe_endpoint(EndpointName=ENDPOINT)["EndpointConfigName"])
