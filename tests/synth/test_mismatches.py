"""The comparison of plans with templates finds every changed property of an endpoint."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plan.document import Plan
from plan.mismatches import ALARM, KINDS, mismatches
from stages import stage_names
from tests.synth.conftest import assembly_of, templates_of
from tests.synth.every_stage import EVERY_STAGE

Keys = tuple[str | int, ...]
Templates = dict[str, dict[str, Any]]
NOT_OF_THE_PLAN = {
    *("ServiceToken", "WaitMinutes", "Description", "AlarmDescription"),
    *("ExecutionRoleArn", "VpcConfig", "KmsKeyId", "DestinationS3Uri", "SecurityGroup", "Label"),
    *("Deployment", "Components", "Tags", "AlarmActions", "List"),
}
"""Properties whose values the plan does not have."""


@pytest.fixture(params=[*stage_names(), *EVERY_STAGE])
def planned(request: pytest.FixtureRequest) -> tuple[Plan, Templates]:
    """Return the plan and the templates of each stage."""
    return Plan.read(Path(assembly_of(request.param).directory)), templates_of(request.param)


def test_templates_match_their_plan(planned: tuple[Plan, Templates]) -> None:
    assert mismatches(*planned) == []


@pytest.mark.parametrize("planned", ["all", "plain", "pooled", "components"], indirect=True)
def test_every_changed_property_is_found(planned: tuple[Plan, Templates]) -> None:
    plan, templates = planned
    missed, covered = [], set[tuple[str, Keys]]()
    for endpoint in plan.endpoints.values():
        stack = endpoint.settings.stack
        part = plan.model_copy(
            update={"endpoints": {k: e for k, e in plan.endpoints.items() if e is endpoint}}
        )
        text = json.dumps(templates[stack])
        for keys, change in changes(templates[stack], covered):
            changed = json.loads(text)
            change(changed)
            if not mismatches(part, {stack: changed}):
                missed.append((stack, *keys))
    assert missed == []


def changes(template: dict[str, Any], covered: set[tuple[str, Keys]]) -> Iterator[tuple[Keys, Any]]:
    """Yield each change of a resource: removed, added, and a value changed, removed or added.

    Resources of one type have the same properties: each property is changed once for each type,
    except that alarms and policies are different.
    """
    for name, resource in template["Resources"].items():
        kind = resource["Type"]
        if kind not in KINDS:
            continue
        keys = ("Resources", name)
        if (kind, ()) not in covered:
            yield keys, _removing(keys)
            if kind != ALARM:  # a further alarm changes nothing
                yield (*keys, "copy"), _setting(("Resources", f"{name}Copy"), resource)
        covered.add((kind, ()))
        for path, value in _values(resource["Properties"]):
            identity = f"{kind} {resource['Properties'].get('MetricName')}"
            if (identity, path) in covered:
                continue
            covered.add((identity, path))
            location = (*keys, "Properties", *path)
            if isinstance(value, dict):
                yield (*location, "+"), _setting((*location, "Added"), 1)
                continue
            other = {bool: not value, int: 7919, float: 0.123}.get(type(value), f"{value}x")
            yield location, _setting(location, other)
            if isinstance(path[-1], str):
                yield (*location, "-"), _removing(location)


def _values(value: Any, path: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Yield the paths of all mappings and plain values, except of those not in the plan."""
    if NOT_OF_THE_PLAN & {*path}:
        return
    if isinstance(value, dict):
        yield path, value
        for key, part in value.items():
            yield from _values(part, (*path, key))
    elif isinstance(value, list):
        for number, part in enumerate(value[:2]):  # further elements are like the second
            yield from _values(part, (*path, number))
    else:
        yield path, value


def _at(template: Any, keys: Keys) -> Any:
    for key in keys[:-1]:
        template = template[key]
    return template


def _setting(keys: Keys, value: Any) -> Any:
    return lambda template: (
        _at(template, keys).update({keys[-1]: value})
        if isinstance(keys[-1], str)
        else _at(template, keys).__setitem__(keys[-1], value)
    )


def _removing(keys: Keys) -> Any:
    return lambda template: _at(template, keys).pop(keys[-1])


def test_alarm_without_actions_is_found(planned: tuple[Plan, Templates]) -> None:
    plan, templates = planned
    templates = json.loads(json.dumps(templates))
    is_removed = False
    for template in templates.values():
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::CloudWatch::Alarm":
                is_removed |= bool(resource["Properties"].pop("AlarmActions", None))
    assert bool(mismatches(plan, templates)) is is_removed
