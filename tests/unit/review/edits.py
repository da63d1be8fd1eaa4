"""Functions that return edits of a stack's resources, and compare the stack after an edit."""

from collections.abc import Callable
from typing import Any

from release.checkout import StageFile
from review.comparison import Comparison

PROD = StageFile(region="us-east-1", production=True, account="111111111111")
STACK = "prod-text"
Edit = Callable[[dict[str, Any]], None]


def compare(
    before: dict[str, Any],
    after: dict[str, Any],
    *,
    stack: str = STACK,
    file_before: StageFile = PROD,
    file_after: StageFile = PROD,
    **fields: Any,
) -> Comparison:
    """Return the comparison of a stage with one stack; `fields` are those of `Comparison`."""
    sides = {stack: {"Resources": before}}, {stack: {"Resources": after}}
    return Comparison("prod", *sides, file_before=file_before, file_after=file_after, **fields)


def put(*path: Any) -> Edit:
    """Return an edit that sets a property: put(RESOURCE, PROPERTY, ..., VALUE)."""
    name, *steps, last, value = path

    def edit(resources: dict[str, Any]) -> None:
        parent = resources[name]["Properties"]
        for step in steps:
            parent = parent[step]
        parent[last] = value

    return edit


def drop(*path: Any) -> Edit:
    """Return an edit that deletes a resource or a property: drop(RESOURCE, PROPERTY, ...)."""
    name, *steps = path

    def edit(resources: dict[str, Any]) -> None:
        parent = resources if not steps else resources[name]["Properties"]
        for step in steps[:-1]:
            parent = parent[step]
        del parent[steps[-1] if steps else name]

    return edit


def add(**resources: Any) -> Edit:
    """Return an edit that adds resources."""
    return lambda existing: existing.update(resources)


def together(*edits: Edit) -> Edit:
    """Return several edits as one."""

    def edit(resources: dict[str, Any]) -> None:
        for single_edit in edits:
            single_edit(resources)

    return edit
