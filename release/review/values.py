"""Compare values of templates and files, and format them."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, NamedTuple

LONGEST = 100
"""Maximum characters of a value; of a longer one, the part that differs is shown."""

DEEPEST = 40
MOST_ITEMS = 1000
"""Maximum items of a list: comparing them may take quadratic time."""

_EXPORT = re.compile(r"(?<=:)ExportsOutput(?:Ref|FnGetAtt)(\w*?[0-9A-F]{8})\w*")
"""The CDK's name of an export, with the logical id in it."""

NAMES = ("VariantName", "ScheduledActionName", "Name", "Key", "Id", "CaptureMode", "AlarmName")
"""Properties that identify a list item: items of the same name are compared with each other."""

Steps = tuple[str | int, ...]


class Unreadable(ValueError):
    """A value that cannot be read, or is too large to be compared."""


class ValueDifference(NamedTuple):
    """A value that differs; None stands for an absent value.

    `steps` are the keys and list indexes on the way to it. A named list item has no index: `item`
    is its name, and [] is the last step if it is new or gone.
    """

    steps: Steps
    item: str
    before: Any
    after: Any

    @property
    def path(self) -> str:
        """The keys on the way to the value, without list indexes."""
        names = (step for step in self.steps if isinstance(step, str))
        return ".".join(names).replace(".[]", "[]")

    def __str__(self) -> str:
        steps = ".".join(map(str, self.steps))
        return f"{steps}: {arrow(text_of(self.before), text_of(self.after))}"


def differences(
    before: Any,
    after: Any,
    stops: Callable[[str], bool] = lambda _: False,
    steps: Steps = (),
    item: str = "",
) -> Iterator[ValueDifference]:
    """Yield the differences of two values, as deep as possible or down to paths for which `stops`.

    Raise `Unreadable` for values that are nested too deeply, or lists that are too long.
    """
    if repr(before) == repr(after):
        return
    if len(steps) > DEEPEST:
        raise Unreadable(f"is nested in more than {DEEPEST} levels")
    difference = ValueDifference(steps, item, before, after)
    sides = (before, after)
    if steps and stops(difference.path):
        yield difference
    elif any(sides) and all(side is None or _has_parts(side) for side in sides):
        old, new = before or {}, after or {}
        for name in dict.fromkeys((*old, *new)):
            yield from differences(old.get(name), new.get(name), stops, (*steps, str(name)), item)
    elif any(sides) and all(side is None or isinstance(side, list) for side in sides):
        yield from _of_items(difference, stops)
    else:
        yield difference


def _of_items(whole: ValueDifference, stops: Callable[[str], bool]) -> Iterator[ValueDifference]:
    """Yield the differences of list items, or of the whole list if only the order differs."""
    before, after = whole.before or [], whole.after or []
    if max(len(before), len(after)) > MOST_ITEMS:
        raise Unreadable(f"has a list of more than {MOST_ITEMS} items")
    name = next((name for name in NAMES if _named(before, name) and _named(after, name)), None)
    if name:
        old, new = ({each[name]: each for each in side} for side in (before, after))
        for label in sorted(old.keys() | new.keys()):
            was, now = old.get(label), new.get(label)
            new_or_gone = ValueDifference((*whole.steps, "[]"), label, was, now)
            if None in (was, now) and stops(new_or_gone.path):
                yield new_or_gone
            else:
                yield from differences(was, now, stops, whole.steps, label)
    elif sorted(map(repr, before)) == sorted(map(repr, after)):
        yield whole
    else:
        for number, was, now in _aligned(before, after):
            yield from differences(was, now, stops, (*whole.steps, number), whole.item)


def _named(items: list[Any], name: str) -> bool:
    names = [item.get(name) for item in items if isinstance(item, dict)]
    return len(names) == len(items) == len({value for value in names if isinstance(value, str)})


def _aligned(before: list[Any], after: list[Any]) -> Iterator[tuple[int, Any, Any]]:
    """Yield index and both sides of items that differ; scalars are added or removed."""
    texts = [repr(item) for item in before], [repr(item) for item in after]
    matcher = SequenceMatcher(None, texts[0], texts[1], autojunk=False)
    for tag, low, high, start, end in matcher.get_opcodes():
        if tag == "equal":
            continue
        old, new = before[low:high], after[start:end]
        pairs = len(old) == len(new) and all(isinstance(each, dict | list) for each in (*old, *new))
        for offset, item in enumerate(old):
            yield low + offset, item, new[offset] if pairs else None
        for offset, item in enumerate(() if pairs else new):
            yield start + offset, None, item


def _has_parts(value: Any) -> bool:
    return isinstance(value, dict) and not is_function(value)


def is_function(value: Any) -> bool:
    """Return whether a value is an intrinsic function of CloudFormation."""
    return isinstance(value, dict) and any(
        str(name) == "Ref" or str(name).startswith("Fn::") for name in value
    )


def listed(value: Any) -> list[Any]:
    """Return a value as a list: CloudFormation accepts a single item in place of a list."""
    return value if isinstance(value, list) else [value]


def construct_path(logical_id: str, resources: Mapping[str, Any]) -> str:
    """Return the path of a resource's construct, or its logical id if it has none."""
    path: str = resources.get(logical_id, {}).get("Metadata", {}).get("aws:cdk:path", logical_id)
    return path.removesuffix("/Resource").removesuffix("/Default")


def text_of(value: Any, resources: Mapping[str, Any] | None = None) -> str:
    """Return a value as text, with construct paths for resources. Raise `Unreadable`."""
    known = resources or {}
    match value:
        case None:
            return "none"
        case str():
            return value
        case float():
            return f"{value:.15g}"
        case {"Ref": str(name)}:
            return construct_path(name, known) if name in known else f"${{{name}}}"
        case {"Fn::GetAtt": [str(name), *_]} if name in known:
            return construct_path(name, known)
        case {"Fn::Join": [str(joint), list(parts)]}:
            return joint.join(text_of(part, known) for part in parts)
        case {"Fn::ImportValue": str(name)}:
            return _EXPORT.sub(r"\1", name)
        case {"Fn::Sub": str(text)}:
            return text
    try:
        return json.dumps(value, default=str)
    except ValueError:
        raise Unreadable("has a value that holds itself") from None


def arrow(before: str, after: str) -> str:
    """Return two texts with an arrow between them; of long ones, the part that differs."""
    start = 0
    if max(len(before), len(after)) > LONGEST:
        pairs = enumerate(zip(before, after, strict=False))
        differs = next((place for place, (one, other) in pairs if one != other), 0)
        start = max(differs - LONGEST // 3, 0)
    return f"{_excerpt(before, start)} -> {_excerpt(after, start)}"


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """Return the removed and the added lines of a text; a moved line is neither."""
    old, new = ([line.strip() for line in side.splitlines()] for side in (before, after))
    kept = {*old} & {*new}
    return [line for line in old if line not in kept], [line for line in new if line not in kept]


def _excerpt(text: str, start: int) -> str:
    line = " ".join(text.split())
    part = line[start : start + LONGEST]
    end = "…" if start + LONGEST < len(line) else ""
    return f"{'…' if start and part else ''}{part}{end}" if part else "…"


def texts(value: Any) -> Iterator[str]:
    """Yield every text in a value; the parts of an Fn::Join are one text."""
    match value:
        case str():
            yield value
        case {"Fn::Join": [str(between), list(parts)]}:
            yield between.join("".join(texts(part)) or "..." for part in parts)
        case dict():
            for key, item in value.items():
                yield from (key, *texts(item))
        case list():
            for item in value:
                yield from texts(item)
