"""Dependencies between resources of every stage, and unmet dependencies for each check."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stages import load_stage
from tests.synth.assembly import Assembly
from tests.synth.conftest import Templates
from tests.synth.reachability import (
    alarms_without_notification,
    missing_component_logs,
    unprotected_log_groups,
    unsafe_replacements,
)

Check = Callable[[Assembly], Iterator[str]]
Resources = dict[str, dict[str, Any]]
CHECKS = [
    unprotected_log_groups,
    missing_component_logs,
    unsafe_replacements,
    alarms_without_notification,
]


def assembly(stage: str, templates: dict[str, dict[str, Any]]) -> Assembly:
    settings = load_stage(stage)
    return Assembly(templates, region=settings.region, account=settings.account or "111122223333")


@pytest.mark.parametrize("check", CHECKS, ids=lambda value: value.__name__)
def test_shipped_stage_has_no_unmet_dependencies(
    check: Check, stage: str, templates: Templates
) -> None:
    assert list(check(assembly(stage, templates(stage)))) == []


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_component_stage_has_no_unmet_dependencies(check: Check, every_template: Templates) -> None:
    stage = Assembly(every_template("components"), region="us-east-1", account="111122223333")
    assert list(check(stage)) == []


def test_missing_log_group_of_a_component_is_reported(every_template: Templates) -> None:
    templates = copy.deepcopy(every_template("components"))
    resources = templates["components-models"]["Resources"]
    del resources[next(name for name in resources if "Componentminilm" in name)]
    stage = Assembly(templates, region="us-east-1", account="111122223333")
    assert "has no log group" in "\n".join(missing_component_logs(stage))


def first_resource(resources: Resources, kind: str, name: str = "") -> dict[str, Any]:
    """Return the first resource of a type whose logical ID contains `name`."""
    return next(
        resource for id_, resource in resources.items() if resource["Type"] == kind and name in id_
    )


def remove_all(resources: Resources, kind: str) -> None:
    """Remove every resource of a type."""
    for name in [name for name, resource in resources.items() if resource["Type"] == kind]:
        del resources[name]


CASES: list[tuple[str, Check, str, Callable[[Resources], object], str]] = [
    (
        "topic without subscription",
        alarms_without_notification,
        "prod-models",
        lambda resources: remove_all(resources, "AWS::SNS::Subscription"),
        "prod-models.AlarmsTopic3A2DFEBA has no subscription",
    ),
    (
        "alarm without action",
        alarms_without_notification,
        "prod-text",
        lambda resources: first_resource(resources, "AWS::SageMaker::Endpoint")["Properties"][
            "DeploymentConfig"
        ].pop("AutoRollbackConfiguration"),
        "has no action",
    ),
    (
        "log group in the endpoint stack",
        unprotected_log_groups,
        "prod-text",
        lambda resources: resources.update(
            Log={"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/triton/text"}}
        ),
        "prod-text.Log is deleted with a failed first deploy",
    ),
    (
        "model with a fixed name",
        unsafe_replacements,
        "prod-text",
        lambda resources: first_resource(resources, "AWS::SageMaker::Model")["Properties"].update(
            ModelName="text"
        ),
        "has a name: its replacement cannot be created",
    ),
]


@pytest.mark.parametrize(
    ("check", "stack", "change", "message"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_unmet_dependency_is_reported(
    check: Check,
    stack: str,
    change: Callable[[Resources], object],
    message: str,
    templates: Templates,
) -> None:
    stage = stack.partition("-")[0]
    changed_templates = copy.deepcopy(templates(stage))
    change(changed_templates[stack]["Resources"])
    assert message in "\n".join(check(assembly(stage, changed_templates)))
