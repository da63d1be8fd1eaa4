"""States of CloudWatch alarms."""

from collections.abc import Collection
from typing import Any


def alarm_states(cloudwatch: Any, names: Collection[str]) -> dict[str, str]:
    """Return the states of the existing alarms by name; `cloudwatch` is a boto3 client."""
    response = cloudwatch.describe_alarms(
        AlarmNames=list(names), AlarmTypes=["MetricAlarm", "CompositeAlarm"]
    )
    return {
        alarm["AlarmName"]: alarm["StateValue"]
        for kind in ("MetricAlarms", "CompositeAlarms")
        for alarm in response.get(kind, [])
    }
