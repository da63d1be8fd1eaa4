"""Alarms that are not OK."""

import json
from typing import Any

from cli.status.measures import described
from cli.status.report import Alarm
from cli.status.scope import Scope

TARGET_TRACKING = "TargetTracking-"
"""How the names of alarms begin by which Application Auto Scaling scales: one of them is in ALARM
whenever an endpoint could do with fewer instances. Source: its user guide, "Target tracking scaling
policies", of alarms that are not to be edited; the name is as users have shown it
(aws/amazon-sagemaker-operator-for-k8s)."""


SEVERITIES = ("critical", "rollback", "warning", None)


def not_ok(cloudwatch: Any, scope: Scope) -> list[Alarm]:
    """Return those in scope, critical ones first, but for those of scaling. Raises `ClientError`.

    CloudFormation names them, and begins with the stack's name (user guide,
    aws-properties-name), which begins with the stage's.
    """
    prefix = {"AlarmNamePrefix": scope.prefix} if scope.prefix else {}
    pages = cloudwatch.get_paginator("describe_alarms").paginate(
        AlarmTypes=["MetricAlarm", "CompositeAlarm"], **prefix
    )
    alarms = [
        _alarm(it)
        for page in pages
        for it in (*page.get("MetricAlarms", ()), *page.get("CompositeAlarms", ()))
        if it["StateValue"] != "OK"
        and not it["AlarmName"].startswith(TARGET_TRACKING)
        and scope.has(it["AlarmName"])
    ]
    return sorted(alarms, key=lambda alarm: SEVERITIES.index(alarm.severity))


def _alarm(record: dict[str, Any]) -> Alarm:
    about = described(record.get("AlarmDescription", ""))
    factor = about.measure.factor if about else 1
    value, limit = _newest(record.get("StateReasonData")), record.get("Threshold")
    return Alarm(
        name=record["AlarmName"],
        state=record["StateValue"],
        since=record.get("StateTransitionedTimestamp") or record.get("StateUpdatedTimestamp"),
        reason=record.get("StateReason", ""),
        severity=about.severity if about else None,
        endpoint=about.endpoint if about else None,
        measure=about.title if about else None,
        value=None if value is None else value * factor,
        limit=None if limit is None else limit * factor,
        unit=about.measure.unit if about else "",
        section=about.measure.section if about else None,
    )


def _newest(state_reason_data: str | None) -> float | None:
    """Return the newest value that CloudWatch has evaluated, which is the last that it names."""
    points = json.loads(state_reason_data or "{}").get("recentDatapoints") or [None]
    return None if points[-1] is None else float(points[-1])
