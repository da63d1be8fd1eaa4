"""Publish metric data that triggers the rollback alarms."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3

from tests.local.invoking import call_repeatedly


@contextmanager
def publish_errors_of_new_instances(endpoint: str) -> Iterator[None]:
    """Publish error metrics of an update's new instances until the block ends.

    An update replaces the alarms by alarms of the new endpoint configuration; they are read before
    each publication to follow this change.
    """
    cloudwatch: Any = boto3.client("cloudwatch")  # before `run_as` sets AWS_SESSION_TOKEN
    with call_repeatedly(lambda: _publish(cloudwatch, rollback_alarms(cloudwatch, endpoint))):
        yield


@contextmanager
def publish_errors_of_current_instances(endpoint: str) -> Iterator[None]:
    """Publish error metrics of the current instances until the block ends.

    The alarms are read once, so that the metrics remain those of the current configuration.
    """
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
