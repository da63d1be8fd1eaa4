"""Publish metric data that triggers the rollback alarms."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3

from tests.local.invoking import call_repeatedly


@contextmanager
def errors_of_new_instances(endpoint: str) -> Iterator[None]:
    """Publish error metrics of an update's new instances until the block ends.

    The alarm's dimensions name the newest endpoint configuration, so they are read again
    before each publication.
    """
    cloudwatch: Any = boto3.client("cloudwatch")  # before the environment is patched
    with call_repeatedly(lambda: _publish(cloudwatch, rollback_alarms(cloudwatch, endpoint))):
        yield


@contextmanager
def errors_of_current_instances(endpoint: str) -> Iterator[None]:
    """Publish error metrics of the current instances until the block ends."""
    cloudwatch: Any = boto3.client("cloudwatch")
    alarms = rollback_alarms(cloudwatch, endpoint)
    with call_repeatedly(lambda: _publish(cloudwatch, alarms)):
        yield


def _publish(cloudwatch: Any, alarms: list[dict[str, Any]]) -> None:
    for alarm in alarms:
        datum = {"MetricName": alarm["MetricName"], "Dimensions": alarm["Dimensions"]}
        data = [{**datum, "Value": 1.0, "Unit": "None"}]
        cloudwatch.put_metric_data(Namespace=alarm["Namespace"], MetricData=data)


def rollback_alarms(cloudwatch: Any, endpoint: str) -> list[dict[str, Any]]:
    """Return the alarms that roll an endpoint's updates back."""
    alarms = cloudwatch.describe_alarms()["MetricAlarms"]
    start = f"Rolls an update of {endpoint} back"
    return [alarm for alarm in alarms if alarm.get("AlarmDescription", "").startswith(start)]
