"""Random changes of one thing in the templates of a stage, as somebody could make them."""

import copy
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from release.tree import Template
from tests.review_changes import schemas
from tests.review_changes.stages import NAMES, SynthesisedTree, synthesised

KeyPath = schemas.KeyPath

ATTRIBUTES = ("DeletionPolicy", "DependsOn", "UpdateReplacePolicy")
"""What is changed of a resource beside its properties."""


POLICIES = {"Action": "s3:DeleteBucketPolicy", "Resource": "arn:aws:s3:::others/*"}
"""What a policy's statement is given: any that has been there may be allowed, or forbidden, by
another one already."""


@dataclass(frozen=True)
class Change:
    """`path` is that of the property, without places in lists; empty for a whole resource."""

    stage: SynthesisedTree
    stack: str
    type: str
    resource: str
    path: str
    kind: str
    after: dict[str, Template]

    @property
    def title(self) -> str:
        """What people look it up by."""
        return f"{self.stage.name}: {self.kind} {self.type} {self.path} ({self.resource})"


class Impossible(Exception):
    """There is no such thing to change in what was drawn."""


def change(seed: int) -> Change:
    """Make the change of a seed: a stage, a kind, a type, a resource and a property are drawn.

    Each type is as likely as another, and so is each property of a type.
    """
    draw = random.Random(seed)
    while True:
        stage = synthesised(draw.choice(NAMES))
        kind = draw.choice(sorted(KINDS))
        by_type = _by_type(stage.templates)
        of_type = draw.choice(sorted(by_type))
        stack, logical_id = draw.choice(by_type[of_type])
        template = json.loads(_as_json(stage, stack))  # a copy, sooner made than by `copy`
        try:
            where = KINDS[kind](draw, template, logical_id)
        except Impossible:
            continue
        after = {**stage.templates, stack: template}
        if after != stage.templates:
            return Change(stage, stack, of_type, logical_id, where, kind, after)


@cache
def _as_json(stage: SynthesisedTree, stack: str) -> str:
    return json.dumps(stage.templates[stack])


def _by_type(templates: dict[str, Template]) -> dict[str, list[tuple[str, str]]]:
    result: dict[str, list[tuple[str, str]]] = {}
    for stack, template in templates.items():
        for logical_id, resource in template["Resources"].items():
            result.setdefault(resource["Type"], []).append((stack, logical_id))
    return result


def _value(draw: random.Random, template: Template, logical_id: str) -> str:
    resource = template["Resources"][logical_id]
    steps, value = _drawn(draw, _leaves(resource))
    known = _present_values(template, resource["Type"], steps)
    _put(resource, steps, _other(draw, value, resource["Type"], steps, known))
    return _name(steps)


def _removed(draw: random.Random, template: Template, logical_id: str) -> str:
    resource = template["Resources"][logical_id]
    optional = [
        (steps, each)
        for steps, each in _nodes(resource)
        if not schemas.is_required(resource["Type"], _inside(steps))
    ]
    steps, _value_there = _drawn(draw, optional)
    parent = _get(resource, steps[:-1])
    if isinstance(parent, list) and len(parent) == 1:
        raise Impossible
    del parent[steps[-1]]
    return _name(steps)


def _added(draw: random.Random, template: Template, logical_id: str) -> str:
    resource = template["Resources"][logical_id]
    properties = resource.setdefault("Properties", {})
    possible = schemas.additions(resource["Type"], {*properties})
    if not possible:
        raise Impossible
    name = draw.choice(sorted(possible))
    properties[name] = possible[name]
    return name


def _item(draw: random.Random, template: Template, logical_id: str) -> str:
    """Add a copy of an item to a list, with one other value."""
    resource = template["Resources"][logical_id]
    lists = [(steps, each) for steps, each in _nodes(resource) if isinstance(each, list) and each]
    steps, items = _drawn(draw, lists)
    item = copy.deepcopy(draw.choice(items))
    parts = [each for each in _leaves_of(item) if each[0][-1:] != ("Sid",)]
    inner, value = draw.choice(parts)
    whole = (*steps, 0, *inner)
    known = _present_values(template, resource["Type"], whole)
    other = _other(draw, value, resource["Type"], whole, known)
    if inner:
        _put(item, inner, other)
    else:
        item = other
    if item in items:
        raise Impossible
    items.append(item)
    return _name(steps)


def _deleted(draw: random.Random, template: Template, logical_id: str) -> str:
    """Delete a resource that no other one names."""
    gone = template["Resources"].pop(logical_id)
    if f'"{logical_id}"' in json.dumps(template) or gone["Type"] == "AWS::SageMaker::Endpoint":
        raise Impossible
    return ""


def _created(draw: random.Random, template: Template, logical_id: str) -> str:
    """Create a resource like another one, under its own name where it has one."""
    new = copy.deepcopy(template["Resources"][logical_id])
    if new["Type"].startswith("AWS::SageMaker::Endpoint"):
        raise Impossible  # a stack has one
    properties = new.get("Properties", {})
    for name in ("Name", "AlarmName", "LogGroupName", "DashboardName", "Model", "PolicyName"):
        if isinstance(properties.get(name), str):
            properties[name] += "-new"
    if new["Type"] == "AWS::SSM::Parameter":
        entry = json.loads(properties["Value"])
        properties["Value"] = json.dumps({**entry, "model": f"{entry['model']}-new"})
    if path := new.get("Metadata", {}).get("aws:cdk:path"):
        stack, _, rest = path.partition("/")
        new["Metadata"]["aws:cdk:path"] = f"{stack}/New/{rest}"
    template["Resources"][f"New{logical_id}"] = new
    return ""


Kind = Callable[[random.Random, Template, str], str]

KINDS: dict[str, Kind] = {
    "another value": _value,
    "property removed": _removed,
    "property added": _added,
    "item added": _item,
    "resource deleted": _deleted,
    "resource created": _created,
}
"""What each does to a template; it returns the path of what it changed."""


def _drawn(draw: random.Random, nodes: Any) -> tuple[KeyPath, Any]:
    """Draw a property, then one of the places where it stands."""
    by_name: dict[str, list[tuple[KeyPath, Any]]] = {}
    for steps, value in nodes:
        by_name.setdefault(_name(steps), []).append((steps, value))
    if not by_name:
        raise Impossible
    return draw.choice(by_name[draw.choice(sorted(by_name))])


def _nodes(resource: dict[str, Any]) -> Iterator[tuple[KeyPath, Any]]:
    for part in ("Properties", *ATTRIBUTES):
        for steps, value in _below(resource.get(part, {}), (part,)):
            if len(steps) > 1 or (part != "Properties" and part in resource):
                yield steps, value


def _leaves(resource: dict[str, Any]) -> Iterator[tuple[KeyPath, Any]]:
    return ((steps, each) for steps, each in _nodes(resource) if not _is_object(each))


def _leaves_of(value: Any) -> Iterator[tuple[KeyPath, Any]]:
    return ((steps, each) for steps, each in _below(value, ()) if not _is_object(each))


def _below(value: Any, steps: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    yield steps, value
    if isinstance(value, dict) and _is_object(value):
        for name, each in value.items():
            yield from _below(each, (*steps, name))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _below(each, (*steps, number))


def _is_object(value: Any) -> bool:
    """Whether a value is made of others: a function of CloudFormation's counts as one value."""
    if isinstance(value, dict):
        return not any(each == "Ref" or each.startswith("Fn::") for each in value)
    return isinstance(value, list)


def _get(value: Any, steps: KeyPath) -> Any:
    for step in steps:
        value = value[step]
    return value


def _put(value: Any, steps: KeyPath, new: Any) -> None:
    _get(value, steps[:-1])[steps[-1]] = new


def _inside(steps: KeyPath) -> KeyPath:
    """Return the steps below the properties, as a schema has them."""
    return steps[1:] if steps[0] == "Properties" else steps


def _name(steps: KeyPath) -> str:
    return ".".join(each for each in _inside(steps) if isinstance(each, str))


def _present_values(template: Template, kind: str, steps: KeyPath) -> list[Any]:
    """Return the values that a property has anywhere in the stack."""
    if steps[0] == "DependsOn":
        return [*template["Resources"]]
    return [
        value
        for resource in template["Resources"].values()
        if resource["Type"] == kind
        for where, value in _leaves(resource)
        if _name(where) == _name(steps)
    ]


def _other(draw: random.Random, value: Any, kind: str, steps: KeyPath, present: list[Any]) -> Any:
    """Return another value of the same kind."""
    name = [step for step in steps if isinstance(step, str)][-1]
    if "Statement" in steps and name in POLICIES:
        return POLICIES[name]
    match value:
        case bool():
            return not value
        case int() | float():
            return draw.choice(
                [each for each in (value * 2, value // 2, value + 1) if each != value]
            )
        case "Allow" | "Deny":
            return "Deny" if value == "Allow" else "Allow"
        case "true" | "false":
            return "false" if value == "true" else "true"
        case str() if re.fullmatch(r"\d{1,6}", value):
            return str(int(value) * 2 + 1)
        case str() if value.startswith("{"):
            return _other_json(draw, json.loads(value), kind, steps)
    known = schemas.choices(kind, _inside(steps)) or present
    others = [each for each in known if each != value]
    if others:
        return draw.choice(others)
    return f"{value}-changed" if isinstance(value, str) else "changed"


def _other_json(draw: random.Random, value: Any, kind: str, steps: KeyPath) -> str:
    """Return the JSON of an object with one other value in it."""
    leaves = [each for each in _leaves_of(value) if each[0]]
    if not leaves:
        raise Impossible
    inner, leaf = draw.choice(leaves)
    _put(value, inner, _other(draw, leaf, kind, steps, []))
    return json.dumps(value)
