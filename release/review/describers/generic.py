"""Describers of many properties."""

from collections.abc import Callable, Iterator
from typing import Any

from release.review.property_change import ChangeLine, Describer, PropertyChange
from release.review.values import arrow, text_of

LARGE_FALL = 3
"""An amount that falls to a third or less is judged as one that falls to zero. Our choice."""


def shown(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield both values: what a property without a row in the table gets."""
    yield ChangeLine(f"{change.name}: {change.arrow}")


def labelled(label: str) -> Describer:
    """Return a describer that shows both values under another name than the property's."""

    def describe(change: PropertyChange) -> Iterator[ChangeLine]:
        of = f" of {change.item}" if change.item else ""
        yield ChangeLine(f"{label}{of}: {change.arrow}")

    return describe


def tag(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the value of a tag, which some types have in a list, and others by its key."""
    name = change.item or change.path.partition(".")[2]
    sides = (
        side.get("Value") if isinstance(side, dict) else side
        for side in (change.before, change.after)
    )
    yield ChangeLine(f"tag {name}: {arrow(*map(text_of, sides))}")


def silent(reason: str) -> Describer:
    """Return a describer that says nothing, for a reason that the table shows."""
    assert reason
    return lambda _: ()


def guarded(rule: str, holds: Callable[[Any], bool], text: str) -> Describer:
    """Return a describer to which it is a danger that a value `holds` no longer.

    `text` may have the `{property}`.
    """

    def describe(change: PropertyChange) -> Iterator[ChangeLine]:
        if holds(change.before) and not holds(change.after):
            of = f" ({change.item})" if change.item else ""
            yield ChangeLine(f"{text.format(property=change.path.rpartition('.')[2])}{of}", rule)
        else:
            yield from shown(change)

    return describe


def on_deletion(rule: str, text: str) -> Describer:
    """Return a describer to which it is a danger that a resource is deleted."""
    return lambda change: [ChangeLine(text, rule)] if change.after is None else []


def on_creation(rule: str, text: str) -> Describer:
    """Return a describer to which it is a danger that a resource, or an item, is new."""
    return lambda change: [ChangeLine(text, rule)] if change.before is None else shown(change)


def is_on(value: Any) -> bool:
    """Whether a switch is on."""
    return value in (True, "true", "Enabled")


def is_off(value: Any) -> bool:
    """Whether a switch is off, or absent."""
    return not is_on(value)


def is_set(value: Any) -> bool:
    """Whether a property is there."""
    return value is not None and value != {"Ref": "AWS::NoValue"}


def falls(before: float, after: float) -> bool:
    """Whether an amount falls to nothing, or to little of what it was."""
    return after < before and after <= before / LARGE_FALL
