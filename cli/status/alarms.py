"""Alarms that are not OK."""

from typing import Any

from cli.status.report import Alarm
from cli.status.scope import Scope

TARGET_TRACKING = "TargetTracking-"
"""How the names of alarms begin by which Application Auto Scaling scales: one of them is in ALARM
whenever an endpoint could do with fewer instances. Source: its user guide, "Target tracking scaling
policies", of alarms that are not to be edited; the name is as users have shown it
(aws/amazon-sagemaker-operator-for-k8s)."""


def not_ok(cloudwatch: Any, scope: Scope) -> list[Alarm]:
    """Return those in scope, but for those of scaling. Raises `ClientError`.

    CloudFormation names them, and begins with the stack's name (user guide,
    aws-properties-name), which begins with the stage's.
    """
    prefix = {"AlarmNamePrefix": scope.prefix} if scope.prefix else {}
    pages = cloudwatch.get_paginator("describe_alarms").paginate(
        AlarmTypes=["MetricAlarm", "CompositeAlarm"], **prefix
    )
    return [
        Alarm(
            name=it["AlarmName"],
            state=it["StateValue"],
            since=it.get("StateTransitionedTimestamp") or it.get("StateUpdatedTimestamp"),
            reason=it.get("StateReason", ""),
        )
        for page in pages
        for it in (*page.get("MetricAlarms", ()), *page.get("CompositeAlarms", ()))
        if it["StateValue"] != "OK"
        and not it["AlarmName"].startswith(TARGET_TRACKING)
        and scope.has(it["AlarmName"])
    ]
