"""Describers for many properties, and functions that make describers."""

from collections.abc import Callable, Iterator
from typing import Any

from release.review.property_change import ChangeLine, Describer, PropertyChange
from release.review.values import arrow, text_of

LARGE_FALL = 3
"""An amount that falls to a third or less is treated as one that falls to zero: our choice."""


def shown(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield both values: the default for a property without a row."""
    yield ChangeLine(f"{change.name}: {change.arrow}")


def labelled(label: str) -> Describer:
    """Return a describer that shows both values under a label."""

    def describe(change: PropertyChange) -> Iterator[ChangeLine]:
        of = f" of {change.item}" if change.item else ""
        yield ChangeLine(f"{label}{of}: {change.arrow}")

    return describe


def named_value(kind: str) -> Describer:
    """Return a describer for key-value pairs such as tags, in a list or an object."""

    def describe(change: PropertyChange) -> Iterator[ChangeLine]:
        name = change.item or change.path.partition(".")[2]
        sides = [side.get("Value") if isinstance(side, dict) and "Value" in side else side
                 for side in (change.before, change.after)]  # fmt: skip
        yield ChangeLine(f"{kind} {name}: {arrow(*map(text_of, sides))}")

    return describe


def silent(reason: str) -> Describer:
    """Return a describer without output; the table shows the reason."""
    assert reason
    return lambda _: ()


def guarded(rule: str, holds: Callable[[Any], bool], text: str) -> Describer:
    """Return a describer for which it is a danger that `holds` becomes false."""

    def describe(change: PropertyChange) -> Iterator[ChangeLine]:
        line = f"{change.name}: {change.arrow}"
        is_lost = holds(change.before) and not holds(change.after)
        yield ChangeLine(f"{text}: {line}", rule) if is_lost else ChangeLine(line)

    return describe


def on_deletion(rule: str, text: str) -> Describer:
    """Return a describer for which it is a danger that a resource is deleted."""
    return lambda change: [ChangeLine(text, rule)] if change.after is None else []


def on_creation(rule: str, text: str) -> Describer:
    """Return a describer for which it is a danger that a resource or list item is new."""
    return lambda change: [ChangeLine(text, rule)] if change.before is None else shown(change)


def is_moved(change: PropertyChange, names: tuple[str, ...]) -> bool:
    """Return whether a new resource of the stack has the same values of these properties."""
    return any(
        (other.stack, other.type) == (change.change.stack, change.change.type)
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


def is_own_key(value: Any) -> bool:
    """Return whether a key is customer-managed, not one of AWS."""
    return is_set(value) and not str(value).startswith("alias/aws/")


def falls(before: float, after: float) -> bool:
    """Return whether an amount falls to a third or less."""
    return after < before and after <= before / LARGE_FALL
