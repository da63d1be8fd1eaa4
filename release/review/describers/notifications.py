"""Describe changes of the notifications of alarms."""

from collections.abc import Iterator
from typing import Any

from release.review.describers.generic import is_moved
from release.review.property_change import ChangeLine, PropertyChange
from release.review.values import arrow, text_of

UNHEARD = "unheard_alarms"

SUBSCRIBED = ("Endpoint", "Protocol", "TopicArn", "FilterPolicy")


def subscription(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a subscription that is new, removed or filtered."""
    old, new = change.before, change.after
    topic = _topic(change, (old or new)["TopicArn"])
    if old is None:
        yield ChangeLine(f"{_subscriber(new)} is notified of {topic}")
        return
    if new is None and is_moved(change, SUBSCRIBED):
        return
    who = _subscriber(old)
    if new is None or any(old.get(name) != new.get(name) for name in SUBSCRIBED[:3]):
        now = f"; {_subscriber(new)} is" if new else ""
        yield ChangeLine(f"{who} is no longer notified of {topic}{now}", UNHEARD)
    elif old.get("FilterPolicy") != new.get("FilterPolicy"):
        filters = arrow(*(text_of(side.get("FilterPolicy")) for side in (old, new)))
        yield ChangeLine(f"{who} is notified of other messages of {topic}: {filters}", UNHEARD)


def _topic(change: PropertyChange, topic: Any) -> str:
    """Return a topic's name if a template of the stack has it, else the end of its ARN."""
    for side in change.comparison.sides:
        match topic:
            case {"Ref": str(name)} if (
                resource := side.get(change.change.stack, {}).get("Resources", {}).get(name)
            ):
                return text_of(resource.get("Properties", {}).get("TopicName", name))
    return _end(topic)


def _subscriber(subscription: dict[str, Any]) -> str:
    return f"{subscription.get('Protocol')} {_end(subscription.get('Endpoint'))}"


def notified(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield actions that are disabled, removed or added; `ActionsEnabled` is true by default."""
    old, new = change.before, change.after
    if old.get("ActionsEnabled", True) and not new.get("ActionsEnabled", True):
        yield ChangeLine("the alarm notifies nobody: its actions are off", UNHEARD)
        return
    actions, kept = old.get("AlarmActions", []), new.get("AlarmActions", [])
    for action in (action for action in actions if action not in kept):
        yield ChangeLine(f"the alarm no longer notifies {_end(action)}", UNHEARD)
    for action in (action for action in kept if action not in actions):
        yield ChangeLine(f"the alarm now notifies {_end(action)}")


def _end(value: Any) -> str:
    """Return the last part of an ARN, or a resource's logical id."""
    match value:
        case {"Ref": str(name)}:
            return name
    return text_of(value).rpartition(":")[2]
