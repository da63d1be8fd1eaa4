"""Comparison and formatting of values of templates and files."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

MAX_LENGTH = 100
"""Maximum characters of a value in a report; for a longer value, only the changed part is shown."""

MAX_NAMES = 3
"""Maximum names of a list in a report."""
MAX_DEPTH = 40
"""Maximum nesting of values."""
MAX_ITEMS = 1000
"""Maximum items of a list: a comparison can take quadratic time."""

_EXPORT_NAME = re.compile(r"(?<=:)ExportsOutput(?:Ref|FnGetAtt)(\w*?[0-9A-F]{8})\w*")
"""The CDK's name of an export; the group is the logical ID."""

_SUBSTITUTED = re.compile(r"\$\{([\w:]+)(?:\.\w+)?\}")
"""A reference in a text of Fn::Sub; the group is the logical ID."""

NAME_PROPERTIES = (
    "VariantName", "ScheduledActionName", "Name", "Key", "Id", "CaptureMode", "AlarmName",
)  # fmt: skip
"""Properties that identify a list item: items with the same name are compared with each other."""

KeyPath = tuple[str | int, ...]


class Unreadable(ValueError):
    """A value cannot be read, or is too large for a comparison."""


class ValueDifference(NamedTuple):
    """A changed value; None stands for an absent value.

    key_path: the keys and list indexes that lead to the value. A named list item has no index; []
        is the last key if the item is new or removed.
    item: the name of the list item, empty outside a named item.
    """

    key_path: KeyPath
    item: str
    before: Any
    after: Any

    @property
    def path(self) -> str:
        """The keys that lead to the value, without list indexes."""
        names = (key for key in self.key_path if isinstance(key, str))
        return ".".join(names).replace(".[]", "[]")

    def __str__(self) -> str:
        keys = ".".join(map(str, self.key_path))
        change = format_change(format_value(self.before), format_value(self.after))
        return f"{keys}: {change}".removeprefix(": ")


def value_differences(
    before: Any,
    after: Any,
    is_leaf: Callable[[str], bool] = lambda _: False,
    key_path: KeyPath = (),
    item: str = "",
) -> Iterator[ValueDifference]:
    """Yield the differences of two values, as deep as possible or down to paths that are leaves.

    Raise `Unreadable` if the values are nested too deeply, or a list is too long.
    """
    if repr(before) == repr(after):
        return
    if len(key_path) > MAX_DEPTH:
        raise Unreadable(f"is nested in more than {MAX_DEPTH} levels")
    difference = ValueDifference(key_path, item, before, after)
    sides = (before, after)
    if key_path and is_leaf(difference.path):
        yield difference
    elif any(sides) and all(side is None or _is_object(side) for side in sides):
        old, new = before or {}, after or {}
        for name in dict.fromkeys((*old, *new)):
            yield from value_differences(
                old.get(name), new.get(name), is_leaf, (*key_path, str(name)), item
            )
    elif any(sides) and all(side is None or isinstance(side, list) for side in sides):
        yield from _list_differences(difference, is_leaf)
    else:
        yield difference


def _list_differences(
    whole: ValueDifference, is_leaf: Callable[[str], bool]
) -> Iterator[ValueDifference]:
    """Yield the differences of list items, or of the whole list if only the order differs."""
    before, after = whole.before or [], whole.after or []
    if max(len(before), len(after)) > MAX_ITEMS:
        raise Unreadable(f"has a list of more than {MAX_ITEMS} items")
    name_properties = (
        name
        for name in NAME_PROPERTIES
        if _have_unique_names(name, before) and _have_unique_names(name, after)
    )
    if name_property := next(name_properties, None):
        old, new = ({item[name_property]: item for item in side} for side in (before, after))
        for name in sorted(old.keys() | new.keys()):
            difference = ValueDifference(
                (*whole.key_path, "[]"), name, old.get(name), new.get(name)
            )
            if None in difference[2:] and is_leaf(difference.path):
                yield difference
            else:
                yield from value_differences(*difference[2:], is_leaf, whole.key_path, name)
    elif sorted(map(repr, before)) == sorted(map(repr, after)):
        yield whole
    else:
        for index, old_item, new_item in _aligned_items(before, after):
            key_path = (*whole.key_path, index)
            yield from value_differences(old_item, new_item, is_leaf, key_path, whole.item)


def _have_unique_names(name: str, items: list[Any]) -> bool:
    """Return whether all items are objects whose property `name` is a unique text."""
    names = [item.get(name) for item in items if isinstance(item, dict)]
    return len(names) == len(items) == len({value for value in names if isinstance(value, str)})


def _aligned_items(before: list[Any], after: list[Any]) -> Iterator[tuple[int, Any, Any]]:
    """Yield index, old and new value of changed items."""
    matcher = SequenceMatcher(None, [*map(repr, before)], [*map(repr, after)], autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        old, new = before[old_start:old_end], after[new_start:new_end]
        if len(old) == len(new):
            yield from zip(range(old_start, old_end), old, new, strict=True)
            continue
        for index, item in enumerate(old, old_start):
            yield index, item, None
        for index, item in enumerate(new, new_start):
            yield index, None, item


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and not is_intrinsic_function(value)


def is_text(value: Any) -> bool:
    """Return whether a value is a text, or a function that joins one."""
    return isinstance(value, str) or (
        isinstance(value, dict) and value.keys() <= {"Fn::Join", "Fn::Sub"} and bool(value)
    )


def is_intrinsic_function(value: Any) -> bool:
    """Return whether a value is an intrinsic function of CloudFormation, which has one key."""
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((name, part),) = value.items()
    return (name == "Ref" and isinstance(part, str)) or str(name).startswith("Fn::")


def as_list(value: Any) -> list[Any]:
    """Return a value as a list: CloudFormation accepts a single item in place of a list."""
    return value if isinstance(value, list) else [value]


def construct_path(logical_id: str, resources: Mapping[str, Any]) -> str:
    """Return the path of a resource's construct, or the logical ID if there is no path."""
    path: str = resources.get(logical_id, {}).get("Metadata", {}).get("aws:cdk:path", logical_id)
    return path.removesuffix("/Resource").removesuffix("/Default")


def format_value(value: Any, resources: Mapping[str, Any] | None = None) -> str:
    """Return a value as text, with construct paths for resources. Raise `Unreadable`."""
    resources = resources or {}
    match value:
        case None:
            return "none"
        case str():
            return value
        case float():
            return f"{value:.15g}"
        case {"Ref": str(name)}:
            return construct_path(name, resources) if name in resources else f"${{{name}}}"
        case {"Fn::GetAtt": [str(name), *_]} if name in resources:
            return construct_path(name, resources)
        case {"Fn::Join": [str(separator), list(parts)]}:
            return separator.join(format_value(part, resources) for part in parts)
        case {"Fn::ImportValue": str(name)}:
            return _EXPORT_NAME.sub(r"\1", name)
        case list() if any(map(is_intrinsic_function, value)):
            return f"[{', '.join(format_value(item, resources) for item in value)}]"
        case {"Fn::Sub": str(text)}:
            return _SUBSTITUTED.sub(lambda name: format_value({"Ref": name[1]}, resources), text)
    try:
        return json.dumps(value, default=str)
    except ValueError:
        raise Unreadable("has a value that contains itself") from None


def format_change(before: str, after: str) -> str:
    """Return BEFORE -> AFTER; if the texts are long, only the changed part of each."""
    start = 0
    if max(len(before), len(after)) > MAX_LENGTH:
        pairs = enumerate(zip(before, after, strict=False))
        first = next((index for index, (old, new) in pairs if old != new), 0)
        start = max(first - MAX_LENGTH // 3, 0)
    return f"{_excerpt(before, start)} -> {_excerpt(after, start)}"


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """Return the removed and the added lines of a text, without moved lines."""
    old, new = ([line.strip() for line in side.splitlines()] for side in (before, after))
    common = {*old} & {*new}
    removed = [line for line in old if line not in common]
    return removed, [line for line in new if line not in common]


def _excerpt(text: str, start: int) -> str:
    """Return at most `MAX_LENGTH` characters of a text from `start`, with … for omitted text."""
    line = " ".join(text.split())
    excerpt = line[start : start + MAX_LENGTH]
    ending = "…" if start + MAX_LENGTH < len(line) else ""
    return f"{'…' if start else ''}{excerpt}{ending}" if excerpt else "…"


def first_names(names: Sequence[str], maximum: int = MAX_NAMES) -> str:
    """Return the first names of a list, and the number of others."""
    more = f" and {len(names) - maximum} more" if len(names) > maximum else ""
    return f"{', '.join(names[:maximum])}{more}"
