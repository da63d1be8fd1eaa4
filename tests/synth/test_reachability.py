"""What must reach what, over the templates of every stage; and that each check sees a gap."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stages import load_stage
from tests.synth.assembly import Assembly
from tests.synth.conftest import Templates
from tests.synth.reachability import (
    locked_volumes,
    lost_logs,
    missing_logs,
    replaced_in_use,
    unheard_alarms,
)

Check = Callable[[Assembly], Iterator[str]]
Resources = dict[str, dict[str, Any]]
CHECKS = [locked_volumes, lost_logs, missing_logs, replaced_in_use, unheard_alarms]


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


GAPS_OF_COMPONENTS: list[tuple[str, Check, str, Callable[[Resources], object], str]] = [
    (
        "a component without a log group",
        missing_logs,
        "components-models",
        lambda resources: resources.pop(
            next(name for name in resources if "Componentminilm" in name)
        ),
        "has no log group",
    ),
]


@pytest.mark.parametrize(
    ("check", "stack", "break_", "message"),
    [gap[1:] for gap in GAPS_OF_COMPONENTS],
    ids=[gap[0] for gap in GAPS_OF_COMPONENTS],
)
def test_unmet_component_dependency_is_reported(
    check: Check,
    stack: str,
    break_: Callable[[Resources], object],
    message: str,
    every_template: Templates,
) -> None:
    broken = copy.deepcopy(every_template("components"))
    break_(broken[stack]["Resources"])
    stage = Assembly(broken, region="us-east-1", account="111122223333")
    assert message in "\n".join(check(stage))


def first(resources: Resources, kind: str, name: str = "") -> dict[str, Any]:
    """The first resource of a type whose logical id holds a name."""
    return next(each for id_, each in resources.items() if each["Type"] == kind and name in id_)


def drop(resources: Resources, kind: str) -> None:
    """Leave out every resource of a type."""
    for name in [name for name, each in resources.items() if each["Type"] == kind]:
        del resources[name]


def statements(resource: dict[str, Any]) -> list[dict[str, Any]]:
    """The statements of a policy, or of a key's policy."""
    properties = resource["Properties"]
    result: list[dict[str, Any]] = properties.get("PolicyDocument", properties.get("KeyPolicy"))[
        "Statement"
    ]
    return result


def named(listed: list[dict[str, Any]], sid: str) -> dict[str, Any]:
    """The statement of a name."""
    return next(each for each in listed if each.get("Sid") == sid)


GAPS: list[tuple[str, Check, str, Callable[[Resources], object], str]] = [
    (
        "a topic's policy of a Deny alone",
        unheard_alarms,
        "prod-models",
        lambda each: statements(first(each, "AWS::SNS::TopicPolicy")).pop(),
        "the policy of prod-models.AlarmsTopic3A2DFEBA does not let CloudWatch publish",
    ),
    (
        "AWS's own key for SNS",
        unheard_alarms,
        "prod-models",
        lambda each: first(each, "AWS::SNS::Topic")["Properties"].update(
            KmsMasterKeyId="alias/aws/sns"
        ),
        "prod-models.AlarmsTopic3A2DFEBA has a key whose policy is not ours",
    ),
    (
        "a topic without subscribers",
        unheard_alarms,
        "prod-models",
        lambda each: drop(each, "AWS::SNS::Subscription"),
        "nobody is subscribed to prod-models.AlarmsTopic3A2DFEBA",
    ),
    (
        "an alarm that rolls nothing back",
        unheard_alarms,
        "prod-text",
        lambda each: first(each, "AWS::SageMaker::Endpoint")["Properties"]["DeploymentConfig"].pop(
            "AutoRollbackConfiguration"
        ),
        "tells nobody",
    ),
    (
        "a log in the stack that writes it",
        lost_logs,
        "prod-text",
        lambda each: each.update(
            Log={"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/triton/text"}}
        ),
        "prod-text.Log goes with a first deploy that fails",
    ),
    (
        "a role that makes logs",
        lost_logs,
        "prod-text",
        lambda each: named(statements(first(each, "AWS::IAM::Policy", "Role")), "WriteOwnLogs")[
            "Action"
        ].append("logs:CreateLogGroup"),
        "may make prod-models.Logtext",
    ),
    (
        "a role that makes no grants",
        locked_volumes,
        "local-text",
        lambda each: named(
            statements(first(each, "AWS::IAM::Policy", "Role")), "EncryptVolumes"
        ).update(Action="kms:ListGrants"),
        "lacks kms:CreateGrant on local-models.ModelsKey",
    ),
    (
        "a volume key that keeps IAM out",
        locked_volumes,
        "local-models",
        lambda each: statements(first(each, "AWS::KMS::Key", "Models")).clear(),
        "the policy of local-models.ModelsKey",
    ),
    (
        "a model of one name for ever",
        replaced_in_use,
        "prod-text",
        lambda each: first(each, "AWS::SageMaker::Model")["Properties"].update(ModelName="text"),
        "has a name: its replacement cannot be made while it serves",
    ),
]


@pytest.mark.parametrize(
    ("check", "stack", "break_", "message"), [gap[1:] for gap in GAPS], ids=[gap[0] for gap in GAPS]
)
def test_unmet_dependency_is_reported(
    check: Check,
    stack: str,
    break_: Callable[[Resources], object],
    message: str,
    templates: Templates,
) -> None:
    stage = stack.partition("-")[0]
    broken = copy.deepcopy(templates(stage))
    break_(broken[stack]["Resources"])
    assert message in "\n".join(check(assembly(stage, broken)))
