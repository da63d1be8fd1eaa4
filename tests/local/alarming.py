"""Alarms that roll updates back, and go off by the data that they watch."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3

from tests.local.invoking import invoked_all_the_while


@contextmanager
def errors_published(endpoint: str) -> Iterator[None]:
    """Publish errors of an update's new instances, as SageMaker would, all the while.

    The alarm watches those of the configuration that is deployed last: its dimensions are looked up
    each time.
    """
    cloudwatch: Any = boto3.client("cloudwatch")

    def publish() -> None:
        for alarm in rollback_alarms(cloudwatch, endpoint):
            datum = {"MetricName": alarm["MetricName"], "Dimensions": alarm["Dimensions"]}
            data = [{**datum, "Value": 1.0, "Unit": "None"}]
            cloudwatch.put_metric_data(Namespace=alarm["Namespace"], MetricData=data)

    with invoked_all_the_while(publish):
        yield


def rollback_alarms(cloudwatch: Any, endpoint: str) -> list[dict[str, Any]]:
    """Return the alarms that roll an endpoint's updates back."""
    found = cloudwatch.describe_alarms()["MetricAlarms"]
    told = f"Rolls an update of {endpoint} back"
    return [it for it in found if it.get("AlarmDescription", "").startswith(told)]


def put_rollback_alarm(name: str, *, endpoint: str, config: str) -> None:
    """Have an alarm on the errors of a configuration's instances, as the app's template has one."""
    cloudwatch: Any = boto3.client("cloudwatch")
    place = {"EndpointName": endpoint, "VariantName": "AllTraffic", "EndpointConfigName": config}
    cloudwatch.put_metric_alarm(
        AlarmName=name,
        Namespace="AWS/SageMaker",
        MetricName="InvocationModelErrors",
        Dimensions=[{"Name": it, "Value": value} for it, value in place.items()],
        Statistic="Average",
        Period=60,
        EvaluationPeriods=3,
        DatapointsToAlarm=2,
        Threshold=0.2,
        ComparisonOperator="GreaterThanThreshold",
        TreatMissingData="notBreaching",
    )
