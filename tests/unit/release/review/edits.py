"""Edits of the resources of a stack, and the comparison of both sides."""

from collections.abc import Callable
from typing import Any

from release.review.comparison import Comparison
from release.stage_file import StageFile

PROD = StageFile(region="us-east-1", production=True, account="111111111111")
STACK = "prod-text"
Edit = Callable[[dict[str, Any]], None]


def compared(
    before: dict[str, Any],
    after: dict[str, Any],
    *,
    stack: str = STACK,
    was: StageFile = PROD,
    will_be: StageFile = PROD,
    **more: Any,
) -> Comparison:
    """Return the comparison of a stack with these resources before and after."""
    sides = {stack: {"Resources": before}}, {stack: {"Resources": after}}
    return Comparison("prod", *sides, was=was, will_be=will_be, **more)


def put(*path: Any) -> Edit:
    """Set a value, the last argument, below the properties of a resource."""
    name, *steps, last, value = path

    def edit(resources: dict[str, Any]) -> None:
        here = resources[name]["Properties"]
        for step in steps:
            here = here[step]
        here[last] = value

    return edit


def drop(*path: Any) -> Edit:
    """Delete a resource, or a property of one."""
    name, *steps = path

    def edit(resources: dict[str, Any]) -> None:
        here = resources if not steps else resources[name]["Properties"]
        for step in steps[:-1]:
            here = here[step]
        del here[steps[-1] if steps else name]

    return edit


def add(**resources: Any) -> Edit:
    return lambda here: here.update(resources)


def together(*edits: Edit) -> Edit:
    def edit(resources: dict[str, Any]) -> None:
        for item in edits:
            item(resources)

    return edit
