"""Random changes of one value, property, item or resource in the templates of a stage."""

import copy
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from release.templates import Template
from review.values import is_intrinsic_function
from tests.review_changes import schemas
from tests.review_changes.stages import NAMES, SynthesisedStage, synthesised

KeyPath = schemas.KeyPath

ATTRIBUTES = ("DeletionPolicy", "DependsOn", "UpdateReplacePolicy")
"""Attributes of a resource that are changed, too."""

NEW_PERMISSION = {"Action": "s3:DeleteBucketPolicy", "Resource": "arn:aws:s3:::others/*"}
"""New values in a policy's statement, which no existing statement allows or denies."""


@dataclass(frozen=True)
class RandomChange:
    """A changed stage.

    resource: logical ID.
    path: path of the property without list indexes, empty for a whole resource.
    after: stack name -> template after the change.
    """

    stage: SynthesisedStage
    stack: str
    type: str
    resource: str
    path: str
    kind: str
    after: dict[str, Template]

    @property
    def title(self) -> str:
        """Stage, kind, type, property and resource."""
        return f"{self.stage.name}: {self.kind} {self.type} {self.path} ({self.resource})"


class ImpossibleChange(Exception):
    """The chosen resource cannot be changed in the chosen way."""


def random_change(seed: int) -> RandomChange:
    """Return a change that depends only on the seed.

    Stage, kind, type, resource and property are chosen in this order. All types, and all properties
    of a type, are equally likely.
    """
    draw = random.Random(seed)
    while True:
        stage = synthesised(draw.choice(NAMES))
        kind = draw.choice(sorted(KINDS))
        by_type = _resources_by_type(stage.templates)
        resource_type = draw.choice(sorted(by_type))
        stack, logical_id = draw.choice(by_type[resource_type])
        template = json.loads(_to_json(stage, stack))  # a copy, faster than by `copy`
        try:
            path = KINDS[kind](draw, template, logical_id)
        except ImpossibleChange:
            continue
        after = {**stage.templates, stack: template}
        if after != stage.templates:
            return RandomChange(stage, stack, resource_type, logical_id, path, kind, after)


@cache
def _to_json(stage: SynthesisedStage, stack: str) -> str:
    return json.dumps(stage.templates[stack])


def _resources_by_type(templates: dict[str, Template]) -> dict[str, list[tuple[str, str]]]:
    result: dict[str, list[tuple[str, str]]] = {}
    for stack, template in templates.items():
        for logical_id, resource in template["Resources"].items():
            result.setdefault(resource["Type"], []).append((stack, logical_id))
    return result


def _change_value(draw: random.Random, template: Template, logical_id: str) -> str:
    resource = template["Resources"][logical_id]
    steps, value = _draw_node(draw, _leaves(resource))
    present_values = _present_values(template, resource["Type"], steps)
    _put(resource, steps, _new_value(draw, value, resource["Type"], steps, present_values))
    return _name(steps)


def _remove_property(draw: random.Random, template: Template, logical_id: str) -> str:
    resource = template["Resources"][logical_id]
    optional_nodes = [
        (steps, value)
        for steps, value in _nodes(resource)
        if not schemas.is_required(resource["Type"], _below_properties(steps))
    ]
    steps, _ = _draw_node(draw, optional_nodes)
    parent = _get(resource, steps[:-1])
    if isinstance(parent, list) and len(parent) == 1:
        raise ImpossibleChange
    del parent[steps[-1]]
    return _name(steps)


def _add_property(draw: random.Random, template: Template, logical_id: str) -> str:
    resource = template["Resources"][logical_id]
    properties = resource.setdefault("Properties", {})
    new_properties = schemas.additions(resource["Type"], {*properties})
    if not new_properties:
        raise ImpossibleChange
    name = draw.choice(sorted(new_properties))
    properties[name] = new_properties[name]
    return name


def _add_item(draw: random.Random, template: Template, logical_id: str) -> str:
    """Add a copy of an item to a list, with one changed value."""
    resource = template["Resources"][logical_id]
    lists = [node for node in _nodes(resource) if isinstance(node[1], list) and node[1]]
    steps, items = _draw_node(draw, lists)
    item = copy.deepcopy(draw.choice(items))
    inner, value = draw.choice([node for node in _item_leaves(item) if node[0][-1:] != ("Sid",)])
    path = (*steps, 0, *inner)
    present_values = _present_values(template, resource["Type"], path)
    new_value = _new_value(draw, value, resource["Type"], path, present_values)
    if inner:
        _put(item, inner, new_value)
    else:
        item = new_value
    if item in items:
        raise ImpossibleChange
    items.append(item)
    return _name(steps)


def _delete_resource(draw: random.Random, template: Template, logical_id: str) -> str:
    """Delete a resource to which no other refers."""
    deleted = template["Resources"].pop(logical_id)
    if f'"{logical_id}"' in json.dumps(template) or deleted["Type"] == "AWS::SageMaker::Endpoint":
        raise ImpossibleChange
    return ""


def _create_resource(draw: random.Random, template: Template, logical_id: str) -> str:
    """Create a copy of a resource with a new name."""
    new = copy.deepcopy(template["Resources"][logical_id])
    if new["Type"].startswith("AWS::SageMaker::Endpoint"):
        raise ImpossibleChange  # a stack has a single endpoint
    properties = new.get("Properties", {})
    for name in ("Name", "AlarmName", "LogGroupName", "DashboardName", "Model", "PolicyName"):
        if isinstance(properties.get(name), str):
            properties[name] += "-new"
    if path := new.get("Metadata", {}).get("aws:cdk:path"):
        stack, _, path_in_stack = path.partition("/")
        new["Metadata"]["aws:cdk:path"] = f"{stack}/New/{path_in_stack}"
    template["Resources"][f"New{logical_id}"] = new
    return ""


ChangeTemplate = Callable[[random.Random, Template, str], str]

KINDS: dict[str, ChangeTemplate] = {
    "another value": _change_value,
    "property removed": _remove_property,
    "property added": _add_property,
    "item added": _add_item,
    "resource deleted": _delete_resource,
    "resource created": _create_resource,
}
"""Kind of change -> function that changes a template and returns the property's path."""


def _draw_node(draw: random.Random, nodes: Any) -> tuple[KeyPath, Any]:
    """Draw a property, then one of its occurrences."""
    by_name: dict[str, list[tuple[KeyPath, Any]]] = {}
    for steps, value in nodes:
        by_name.setdefault(_name(steps), []).append((steps, value))
    if not by_name:
        raise ImpossibleChange
    return draw.choice(by_name[draw.choice(sorted(by_name))])


def _nodes(resource: dict[str, Any]) -> Iterator[tuple[KeyPath, Any]]:
    for part in ("Properties", *ATTRIBUTES):
        for steps, value in _walk(resource.get(part, {}), (part,)):
            if len(steps) > 1 or (part != "Properties" and part in resource):
                yield steps, value


def _leaves(resource: dict[str, Any]) -> Iterator[tuple[KeyPath, Any]]:
    return (node for node in _nodes(resource) if not _is_container(node[1]))


def _item_leaves(value: Any) -> Iterator[tuple[KeyPath, Any]]:
    return (node for node in _walk(value, ()) if not _is_container(node[1]))


def _walk(value: Any, steps: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    yield steps, value
    if isinstance(value, dict) and _is_container(value):
        for name, item in value.items():
            yield from _walk(item, (*steps, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, (*steps, index))


def _is_container(value: Any) -> bool:
    """Return whether a value is a list, or an object that is not an intrinsic function."""
    return isinstance(value, list) or (isinstance(value, dict) and not is_intrinsic_function(value))


def _get(value: Any, steps: KeyPath) -> Any:
    for step in steps:
        value = value[step]
    return value


def _put(value: Any, steps: KeyPath, new: Any) -> None:
    _get(value, steps[:-1])[steps[-1]] = new


def _below_properties(steps: KeyPath) -> KeyPath:
    """Return the path below `Properties`, as in a schema."""
    return steps[1:] if steps[0] == "Properties" else steps


def _name(steps: KeyPath) -> str:
    return ".".join(step for step in _below_properties(steps) if isinstance(step, str))


def _present_values(template: Template, resource_type: str, steps: KeyPath) -> list[Any]:
    """Return all values of a property in the stack."""
    if steps[0] == "DependsOn":
        return [*template["Resources"]]
    return [
        value
        for resource in template["Resources"].values()
        if resource["Type"] == resource_type
        for path, value in _leaves(resource)
        if _name(path) == _name(steps)
    ]


def _new_value(
    draw: random.Random, value: Any, resource_type: str, steps: KeyPath, present_values: list[Any]
) -> Any:
    """Return a different value of the same type."""
    name = [step for step in steps if isinstance(step, str)][-1]
    if "Statement" in steps and name in NEW_PERMISSION:
        return NEW_PERMISSION[name]
    match value:
        case bool():
            return not value
        case int() | float():
            numbers = (value * 2, value // 2, value + 1)
            return draw.choice([number for number in numbers if number != value])
        case "Allow" | "Deny":
            return "Deny" if value == "Allow" else "Allow"
        case "true" | "false":
            return "false" if value == "true" else "true"
        case str() if re.fullmatch(r"\d{1,6}", value):
            return str(int(value) * 2 + 1)
        case str() if value.startswith("{"):
            return _new_json(draw, json.loads(value), resource_type, steps)
    values = schemas.choices(resource_type, _below_properties(steps)) or present_values
    other_values = [other for other in values if other != value]
    if other_values:
        return draw.choice(other_values)
    return f"{value}-changed" if isinstance(value, str) else "changed"


def _new_json(draw: random.Random, value: Any, resource_type: str, steps: KeyPath) -> str:
    """Return the JSON of an object with one changed value."""
    leaves = [node for node in _item_leaves(value) if node[0]]
    if not leaves:
        raise ImpossibleChange
    inner, leaf = draw.choice(leaves)
    _put(value, inner, _new_value(draw, leaf, resource_type, steps, []))
    return json.dumps(value)
