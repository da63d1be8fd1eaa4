"""An update of an endpoint whose rollback alarms are already in alarm."""

from pathlib import Path
from typing import Any

import boto3
import pytest

from local_sagemaker.settings import SPEED
from local_sagemaker.tests.support.tiny_models import times, write_python
from local_sagemaker.tests.support.waiting import eventually
from tests.local.conftest import Checkout, stage_file
from tests.local.rollback_alarms import alarms_of_current_instances, rollback_alarms

pytestmark = pytest.mark.drill

STAGE_FILE, ENDPOINT = Path("stages", "mended.yaml"), "mended-math"
CONTENT = stage_file("""
endpoints:
  math:
    models: [times]
    instance_type: ml.m5.xlarge
    update: { strategy: rolling, percent: 50, wait_seconds: 0 }
    server: { log_verbose: 0 }
""")
SETTINGS = {SPEED: "4"}
"""Settings of the local SageMaker: alarms are evaluated only after the start of an update."""


@pytest.fixture(scope="module")
def stage(checkout: Checkout) -> Checkout:
    write_python(checkout.path / "models" / "times", times(2))
    stage = checkout.write_stage("mended", CONTENT)
    stage.deploy()
    return stage


def test_alarm_before_an_update_does_not_roll_it_back(stage: Checkout) -> None:
    old_config, cloudwatch = config_name(), boto3.client("cloudwatch")

    def is_in_alarm() -> bool:
        return "ALARM" in {alarm["StateValue"] for alarm in rollback_alarms(cloudwatch, ENDPOINT)}

    with alarms_of_current_instances(ENDPOINT):
        eventually(is_in_alarm)
        stage.edit(str(STAGE_FILE), "log_verbose: 0", "log_verbose: 1")
        stage.deploy()
    assert config_name() != old_config
    alarms = rollback_alarms(cloudwatch, ENDPOINT)
    assert len(alarms) == 2
    assert all(alarm["AlarmName"].endswith(config_name()) for alarm in alarms)


def config_name() -> str:
    """Return the name of the current endpoint configuration."""
    sagemaker: Any = boto3.client("sagemaker")
    return str(sagemaker.describe_endpoint(EndpointName=ENDPOINT)["EndpointConfigName"])
