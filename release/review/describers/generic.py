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


def named_value(kind: str) -> Describer:
    """Return a describer of the value of a tag, or the like: in a list, or by its key."""

    def describe(change: PropertyChange) -> Iterator[ChangeLine]:
        name = change.item or change.path.partition(".")[2]
        sides = [side.get("Value") if isinstance(side, dict) and "Value" in side else side
                 for side in (change.before, change.after)]  # fmt: skip
        yield ChangeLine(f"{kind} {name}: {arrow(*map(text_of, sides))}")

    return describe


def silent(reason: str) -> Describer:
    """Return a describer that says nothing, for a reason that the table shows."""
    assert reason
    return lambda _: ()


def guarded(rule: str, holds: Callable[[Any], bool], text: str) -> Describer:
    """Return a describer to which it is a danger that a value `holds` no longer."""

    def describe(change: PropertyChange) -> Iterator[ChangeLine]:
        line = f"{change.name}: {change.arrow}"
        is_lost = holds(change.before) and not holds(change.after)
        yield ChangeLine(f"{text}: {line}", rule) if is_lost else ChangeLine(line)

    return describe


def on_deletion(rule: str, text: str) -> Describer:
    """Return a describer to which it is a danger that a resource is deleted."""
    return lambda change: [ChangeLine(text, rule)] if change.after is None else []


def on_creation(rule: str, text: str) -> Describer:
    """Return a describer to which it is a danger that a resource, or an item, is new."""
    return lambda change: [ChangeLine(text, rule)] if change.before is None else shown(change)


def is_moved(change: PropertyChange, names: tuple[str, ...]) -> bool:
    """Whether a new resource of the stack has the values of one that is deleted, of these names."""
    return any(
        (other.stack, other.type) == (change.change.stack, change.change.type)
        and not other.before
        and all(other.after["Properties"].get(name) == change.before.get(name) for name in names)
        for other in change.comparison.changes
    )


def is_on(value: Any) -> bool:
    """Whether a switch is on."""
    return value in (True, "true", "Enabled")


def is_off(value: Any) -> bool:
    """Whether a switch is off, or absent."""
    return not is_on(value)


def is_set(value: Any) -> bool:
    """Whether a property is there."""
    return value is not None and value != {"Ref": "AWS::NoValue"}


def is_own_key(value: Any) -> bool:
    """Whether a key is one whose policy the stage writes, and none that AWS manages."""
    return is_set(value) and not str(value).startswith("alias/aws/")


def falls(before: float, after: float) -> bool:
    """Whether an amount falls to nothing, or to little of what it was."""
    return after < before and after <= before / LARGE_FALL
