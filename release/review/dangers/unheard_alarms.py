"""Alarms that nobody hears."""

import json
from collections.abc import Iterator
from typing import Any

from release.review.comparison import Comparison
from release.review.dangers.found import Found


def unheard_alarms(comparison: Comparison) -> Iterator[Found]:
    """An alarm that stays no longer tells a topic, or somebody no longer hears a topic.

    `ActionsEnabled` is true unless it is set (API reference, PutMetricAlarm). A subscription that
    is deleted is told nothing (SNS API reference, Unsubscribe).
    """
    for change in comparison.changes:
        subject = f"{change.stack}.{change.path}"
        if change.stack not in comparison.after:
            continue  # it stays as it is
        if change.type == "AWS::SNS::Subscription" and change.before:
            yield from _subscriptions(subject, change.before, change.after)
        if change.type not in ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"):
            continue
        if change.before and change.after:
            name = comparison.endpoint_in(change.stack)
            for what in _no_longer(change.before["Properties"], change.after["Properties"]):
                yield Found(
                    f"{subject}.{what}",
                    f"the alarm {change.path} of {name} {what}",
                    group=name,
                    heading=f"{{count}} alarms of {name} tell fewer",
                )


def _subscriptions(subject: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[Found]:
    old, new = before["Properties"], after.get("Properties")
    who = f"{old.get('Protocol')} {_said(old.get('Endpoint'))}"
    if new is None or any(
        old.get(it) != new.get(it) for it in ("Endpoint", "Protocol", "TopicArn")
    ):
        yield Found(subject, f"{who} no longer hears {_said(old['TopicArn'])}")
    elif old.get("FilterPolicy") != new.get("FilterPolicy"):
        yield Found(subject, f"{who} hears other messages of {_said(old['TopicArn'])}: a filter")


def _no_longer(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    if old.get("ActionsEnabled", True) and not new.get("ActionsEnabled", True):
        yield "tells nobody: its actions are off"
        return
    for action in old.get("AlarmActions", ()):
        if action not in new.get("AlarmActions", ()):
            yield f"no longer tells {_said(action)}"


def _said(value: Any) -> str:
    """Return a value as text: an ARN by its end, a resource by its logical id."""
    match value:
        case str():
            return value.rpartition(":")[2]
        case {"Ref": str(name)}:
            return name
        case {"Fn::Join": [_, [*_, str(end)]]}:
            return end.rpartition(":")[2]
    return json.dumps(value, sort_keys=True)
