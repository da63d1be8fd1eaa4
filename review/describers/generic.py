"""Describers for many properties, and functions that return describers."""

from collections.abc import Callable, Iterator
from typing import Any

from review.property_change import ChangeLine, Describer, PropertyChange
from review.values import format_change, format_value

SHARP_FALL_DIVISOR = 3
"""An amount that falls to a third or less is treated like zero; chosen for this project."""


def both_values(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield both values; the default for a property without a row."""
    yield ChangeLine(f"{change.name}: {change.value_change}")


def with_label(label: str) -> Describer:
    """Return a describer that shows both values with a label."""

    def describe(change: PropertyChange) -> Iterator[ChangeLine]:
        of_item = f" of {change.item}" if change.item else ""
        yield ChangeLine(f"{label}{of_item}: {change.value_change}")

    return describe


def named_value(kind: str) -> Describer:
    """Return a describer for key-value pairs in a list or an object, such as tags."""

    def describe(change: PropertyChange) -> Iterator[ChangeLine]:
        name = change.item or change.path.partition(".")[2]
        values = [side.get("Value") if isinstance(side, dict) and "Value" in side else side
                  for side in (change.before, change.after)]  # fmt: skip
        yield ChangeLine(f"{kind} {name}: {format_change(*map(format_value, values))}")

    return describe


def not_described(reason: str) -> Describer:
    """Return a describer without output; the reason is documentation in the table."""
    assert reason
    return lambda _: ()


def danger_if_lost(rule: str, is_safe: Callable[[Any], bool], text: str) -> Describer:
    """Return a describer whose danger is that a safe value becomes an unsafe one."""

    def describe(change: PropertyChange) -> Iterator[ChangeLine]:
        values = f"{change.name}: {change.value_change}"
        is_danger = is_safe(change.before) and not is_safe(change.after)
        yield ChangeLine(f"{text}: {values}", rule) if is_danger else ChangeLine(values)

    return describe


def danger_on_deletion(rule: str, text: str) -> Describer:
    """Return a describer whose danger is that a resource is deleted."""
    return lambda change: [ChangeLine(text, rule)] if change.after is None else []


def danger_on_creation(rule: str, text: str) -> Describer:
    """Return a describer whose danger is that a resource or list item is new."""
    return lambda change: [ChangeLine(text, rule)] if change.before is None else both_values(change)


def is_recreated(change: PropertyChange, names: tuple[str, ...]) -> bool:
    """Return whether the stack has a new resource with the same type and properties `names`."""
    return any(
        (other.stack, other.type) == (change.resource_change.stack, change.resource_change.type)
        and not other.before
        and all(other.after["Properties"].get(name) == change.before.get(name) for name in names)
        for other in change.comparison.changes
    )


def is_on(value: Any) -> bool:
    """Return whether a setting is enabled."""
    return value in (True, "true", "Enabled")


def is_off(value: Any) -> bool:
    """Return whether a setting is disabled or absent."""
    return not is_on(value)


def is_set(value: Any) -> bool:
    """Return whether a property is set."""
    return value is not None and value != {"Ref": "AWS::NoValue"}


def is_customer_key(value: Any) -> bool:
    """Return whether a key is set and managed by the customer, not by AWS."""
    return is_set(value) and not str(value).startswith("alias/aws/")


def falls_sharply(before: float, after: float) -> bool:
    """Return whether an amount falls to a third or less."""
    return after < before and after <= before / SHARP_FALL_DIVISOR
