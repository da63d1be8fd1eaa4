"""Where two values of a template differ, and how values read."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

LONGEST = 60
"""Characters of a value that is shown; of a longer one, the part that differs."""

_EXPORT = re.compile(r"(?<=:)ExportsOutput(?:Ref|FnGetAtt)(\w*?[0-9A-F]{8})\w*")
"""How the CDK calls an export, and the logical id in it."""

NAMES = ("VariantName", "ScheduledActionName", "Name", "Key", "Id", "CaptureMode", "AlarmName")
"""Properties that name an item of a list: items of one name are compared with each other."""


class PropertyDifference(NamedTuple):
    """A property that differs; `path` has no step for items of lists, `item` the name of one.

    None stands for a value that is absent.
    """

    path: str
    item: str
    before: Any
    after: Any


def differences(
    before: Any, after: Any, stops: Callable[[str], bool], path: str = "", item: str = ""
) -> Iterator[PropertyDifference]:
    """Yield where two values differ: where `stops` holds for a path, else as deep as possible.

    `stops` is also given paths that end with [], of a named item that is new or gone.
    """
    if before == after:
        return
    if path and stops(path):
        yield PropertyDifference(path, item, before, after)
    elif all(side is None or _has_parts(side) for side in (before, after)):
        old, new = before or {}, after or {}
        for name in sorted(old.keys() | new.keys()):
            below = f"{path}.{name}" if path else name
            yield from differences(old.get(name), new.get(name), stops, below, item)
        if not old and not new:
            yield PropertyDifference(path, item, before, after)
    elif all(value is None or isinstance(value, list) for value in (before, after)):
        yield from _items(before or [], after or [], stops, path, item)
    else:
        yield PropertyDifference(path, item, before, after)


def _items(
    before: list[Any], after: list[Any], stops: Callable[[str], bool], path: str, item: str
) -> Iterator[PropertyDifference]:
    name = next(
        (value for value in NAMES if _are_named(before, value) and _are_named(after, value)), None
    )
    if name:
        old, new = ({one[name]: one for one in side} for side in (before, after))
        for label in sorted(old.keys() | new.keys()):
            pair = old.get(label), new.get(label)
            if None in pair and stops(f"{path}[]"):
                yield PropertyDifference(f"{path}[]", label, *pair)
            else:
                yield from differences(*pair, stops, path, label)
        return
    counts = [
        Counter(json.dumps(each, sort_keys=True) for each in side) for side in (before, after)
    ]
    gone, added = counts[0] - counts[1], counts[1] - counts[0]
    for old_item, new_item in zip_longest(sorted(gone.elements()), sorted(added.elements())):
        was, now = (None if entry is None else json.loads(entry) for entry in (old_item, new_item))
        yield from differences(was, now, stops, path, item)
    if not gone and not added:
        yield PropertyDifference(path, item, before, after)  # in another order


def _are_named(items: list[Any], name: str) -> bool:
    names = [item.get(name) for item in items if isinstance(item, dict)]
    return len(names) == len(items) == len({value for value in names if isinstance(value, str)})


def _has_parts(value: Any) -> bool:
    return isinstance(value, dict) and not is_function(value)


def is_function(value: Any) -> bool:
    """Whether a value is an intrinsic function of CloudFormation."""
    return isinstance(value, dict) and any(
        item == "Ref" or item.startswith("Fn::") for item in value
    )


def listed(value: Any) -> list[Any]:
    """Return a value as a list: CloudFormation takes one item for a list of it."""
    return value if isinstance(value, list) else [value]


def construct_path(logical_id: str, resources: dict[str, Any]) -> str:
    """Return the path of a resource's construct, which people recognise, or its logical id."""
    path: str = resources.get(logical_id, {}).get("Metadata", {}).get("aws:cdk:path", logical_id)
    return path.removesuffix("/Resource").removesuffix("/Default")


def text_of(value: Any, resources: dict[str, Any]) -> str:
    """Return a value as text, with resources by their construct paths."""
    match value:
        case None:
            return "none"
        case str():
            return value
        case {"Ref": str(name)}:
            return construct_path(name, resources) if name in resources else f"${{{name}}}"
        case {"Fn::GetAtt": [str(name), *_]} if name in resources:
            return construct_path(name, resources)
        case {"Fn::Join": [str(joint), list(parts)]}:
            return joint.join(text_of(part, resources) for part in parts)
        case {"Fn::ImportValue": str(name)}:
            return _EXPORT.sub(r"\1", name)
        case {"Fn::Sub": str(text)}:
            return text
    return json.dumps(value, sort_keys=True)


def arrow(before: str, after: str) -> str:
    """Return two texts with an arrow between; of long ones, the part that differs."""
    start = 0
    if max(len(before), len(after)) > LONGEST:
        pairs = enumerate(zip(before, after, strict=False))
        differs = next((at for at, (one, other) in pairs if one != other), 0)
        start = max(differs - LONGEST // 3, 0)
    return f"{_excerpt(before, start)} -> {_excerpt(after, start)}"


def _excerpt(text: str, start: int) -> str:
    text = " ".join(text.split())
    cut = text[start : start + LONGEST]
    ends = "…" if start + LONGEST < len(text) else ""
    return f"{'…' if start and cut else ''}{cut}{ends}" if cut else "…"


def texts(value: Any) -> Iterator[str]:
    """Yield every text in a value, those that Fn::Join puts together as one."""
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
