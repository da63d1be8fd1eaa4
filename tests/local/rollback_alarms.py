"""Set the rollback alarms as an operator rehearses them: SetAlarmState.

Evaluations set an alarm back; those of new instances get a condition that is always true.

CloudWatch takes no metric data of namespaces that begin with AWS/.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import boto3

from tests.local.invoking import call_repeatedly

ALWAYS = -1.0
"""A threshold that every value exceeds."""


@contextmanager
def alarms_of_new_instances(endpoint: str) -> Iterator[None]:
    """Keep the alarms of an update's new instances in alarm until the block ends.

    An update replaces the alarms by alarms of the new endpoint configuration; they are read each
    time to follow this change.
    """
    cloudwatch: Any = boto3.client("cloudwatch")  # before `run_as` sets AWS_SESSION_TOKEN
    with call_repeatedly(lambda: _keep(cloudwatch, rollback_alarms(cloudwatch, endpoint))):
        yield


@contextmanager
def alarms_of_current_instances(endpoint: str) -> Iterator[None]:
    """Keep the alarms of the current instances in alarm until the block ends.

    The alarms are read once: those of another configuration are not set.
    """
    cloudwatch: Any = boto3.client("cloudwatch")
    alarms = rollback_alarms(cloudwatch, endpoint)
    with call_repeatedly(lambda: _set(cloudwatch, alarms)):
        yield


def _set(cloudwatch: Any, alarms: list[dict[str, Any]]) -> None:
    for alarm in alarms:
        with suppress(cloudwatch.exceptions.ResourceNotFound):  # an update has deleted it
            cloudwatch.set_alarm_state(
                AlarmName=alarm["AlarmName"], StateValue="ALARM", StateReason="a drill"
            )


def _keep(cloudwatch: Any, alarms: list[dict[str, Any]]) -> None:
    """Set alarms, and change their condition so that evaluations leave them in alarm."""
    members = cloudwatch.meta.service_model.operation_model("PutMetricAlarm").input_shape.members
    changed = [alarm for alarm in alarms if alarm["Threshold"] != ALWAYS]
    for alarm in changed:
        fields = {name: value for name, value in alarm.items() if name in members}
        always = {"Threshold": ALWAYS, "ComparisonOperator": "GreaterThanThreshold"}
        cloudwatch.put_metric_alarm(**{**fields, **always, "TreatMissingData": "breaching"})
    _set(cloudwatch, changed)


def rollback_alarms(cloudwatch: Any, endpoint: str) -> list[dict[str, Any]]:
    """Return the alarms that roll an endpoint's updates back."""
    alarms = cloudwatch.describe_alarms()["MetricAlarms"]
    start = f"Rolls an update of {endpoint} back"
    return [alarm for alarm in alarms if alarm.get("AlarmDescription", "").startswith(start)]
