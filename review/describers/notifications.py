"""Describers of alarm actions and of subscriptions to topics."""

from collections.abc import Iterator
from typing import Any

from review.describers.generic import is_recreated
from review.property_change import ChangeLine, PropertyChange
from review.values import format_change, format_value

SILENCED_ALARMS = "silenced_alarms"
"""Name of the rule: a person or program is no longer notified of alarms."""

SUBSCRIPTION_PROPERTIES = ("Endpoint", "Protocol", "TopicArn", "FilterPolicy")
"""Properties that `describe_subscription` describes."""


def describe_subscription(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a new, removed or changed subscription."""
    old, new = change.before, change.after
    topic = _topic(change, (old or new)["TopicArn"])
    if old is None:
        yield ChangeLine(f"{_subscriber(new)} is notified by {topic}")
        return
    if new is None and is_recreated(change, SUBSCRIPTION_PROPERTIES):
        return
    subscriber = _subscriber(old)
    if new is None or any(old.get(name) != new.get(name) for name in SUBSCRIPTION_PROPERTIES[:3]):
        replacement = f"; {_subscriber(new)} is" if new else ""
        text = f"{subscriber} is no longer notified by {topic}{replacement}"
        yield ChangeLine(text, SILENCED_ALARMS)
    elif old.get("FilterPolicy") != new.get("FilterPolicy"):
        filters = format_change(*(format_value(side.get("FilterPolicy")) for side in (old, new)))
        text = f"{subscriber} is notified of other messages by {topic}: {filters}"
        yield ChangeLine(text, SILENCED_ALARMS)


def _topic(change: PropertyChange, topic: Any) -> str:
    """Return the name of a topic in the stack, or the end of another topic's ARN."""
    for resources in change.stack_resources:
        match topic:
            case {"Ref": str(name)} if name in resources:
                return format_value(resources[name].get("Properties", {}).get("TopicName", name))
    return _short_name(topic)


def _subscriber(subscription: dict[str, Any]) -> str:
    return f"{subscription.get('Protocol')} {_short_name(subscription.get('Endpoint'))}"


def describe_alarm_actions(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield disabled, removed and added actions; `ActionsEnabled` is true by default."""
    old, new = change.before, change.after
    if old.get("ActionsEnabled", True) and not new.get("ActionsEnabled", True):
        yield ChangeLine(
            "the alarm sends no notifications: its actions are disabled", SILENCED_ALARMS
        )
        return
    old_actions, new_actions = old.get("AlarmActions", []), new.get("AlarmActions", [])
    for action in (action for action in old_actions if action not in new_actions):
        yield ChangeLine(f"the alarm no longer notifies {_short_name(action)}", SILENCED_ALARMS)
    for action in (action for action in new_actions if action not in old_actions):
        yield ChangeLine(f"the alarm now notifies {_short_name(action)}")


def _short_name(value: Any) -> str:
    """Return the last part of an ARN, or a resource's logical ID."""
    match value:
        case {"Ref": str(name)}:
            return name
    return format_value(value).rpartition(":")[2]
