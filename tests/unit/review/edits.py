"""Functions that return edits of a stack's resources, and compare the stack after an edit."""

from collections.abc import Callable
from typing import Any

from plan.document import Limits, Plan
from review.comparison import Comparison
from tests.unit.plan.plans import make_endpoint, make_model, make_plan, make_variant

STACK = "prod-text"
Edit = Callable[[dict[str, Any]], None]


def variant(
    instance_type: str = "ml.g5.xlarge", low: int = 2, high: int = 10, **fields: Any
) -> Any:
    """Return a scaled variant."""
    limits = Limits(minimum=low, maximum=high)
    return make_variant(instance_type, **{"instances": limits, "is_scaled": True, **fields})


def plan_of(
    models: tuple[str, ...] = ("minilm",), *, endpoint: dict[str, Any] | None = None, **fields: Any
) -> Plan:
    """Return the plan of `prod` with the endpoint `text`.

    `endpoint` has arguments of `make_endpoint`, `fields` are those of `Plan`.
    """
    values: dict[str, Any] = {
        "models": {name: make_model(name) for name in models},
        "variants": {"AllTraffic": variant()},
        **(endpoint or {}),
    }
    endpoints = {"text": make_endpoint(**values)}
    return make_plan(**{"account": "111111111111", "endpoints": endpoints, **fields})


PROD = plan_of()


def compare(
    before: dict[str, Any],
    after: dict[str, Any],
    *,
    stack: str = STACK,
    plan_before: Plan = PROD,
    plan_after: Plan = PROD,
    **fields: Any,
) -> Comparison:
    """Return the comparison of a stage with one stack; `fields` are those of `Comparison`."""
    sides = {stack: {"Resources": before}}, {stack: {"Resources": after}}
    return Comparison("prod", *sides, plan_before, plan_after, **fields)


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
