"""What must reach what, over the templates of every stage; and that each check sees a gap."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stages import load_stage
from tests.synth.assembly import Assembly
from tests.synth.conftest import Templates
from tests.synth.reachability import unheard_alarms

Check = Callable[[Assembly], Iterator[str]]
Resources = dict[str, dict[str, Any]]


def assembly(stage: str, templates: dict[str, dict[str, Any]]) -> Assembly:
    settings = load_stage(stage)
    return Assembly(templates, region=settings.region, account=settings.account or "111122223333")


@pytest.mark.parametrize("check", [unheard_alarms], ids=lambda it: it.__name__)
def test_everything_reaches_what_it_needs(check: Check, stage: str, templates: Templates) -> None:
    assert list(check(assembly(stage, templates(stage)))) == []


def first(resources: Resources, kind: str, name: str = "") -> dict[str, Any]:
    """The first resource of a type whose logical id holds a name."""
    return next(it for id_, it in resources.items() if it["Type"] == kind and name in id_)


def drop(resources: Resources, kind: str) -> None:
    """Leave out every resource of a type."""
    for name in [name for name, it in resources.items() if it["Type"] == kind]:
        del resources[name]


def statements(resource: dict[str, Any]) -> list[dict[str, Any]]:
    """The statements of a policy, or of a key's policy."""
    properties = resource["Properties"]
    found: list[dict[str, Any]] = properties.get("PolicyDocument", properties.get("KeyPolicy"))[
        "Statement"
    ]
    return found


GAPS: list[tuple[str, Check, str, Callable[[Resources], object], str]] = [
    (
        "a topic's policy of a Deny alone",
        unheard_alarms,
        "models",
        lambda it: statements(first(it, "AWS::SNS::TopicPolicy")).pop(),
        "the policy of prod-models.AlarmsTopic3A2DFEBA does not let CloudWatch publish",
    ),
    (
        "a topic for the alarms of another account",
        unheard_alarms,
        "models",
        lambda it: statements(first(it, "AWS::SNS::TopicPolicy"))[-1]["Condition"].update(
            StringEquals={"aws:SourceAccount": "444455556666"}
        ),
        "the policy of prod-models.AlarmsTopic3A2DFEBA does not let CloudWatch publish",
    ),
    (
        "a key that only people may use",
        unheard_alarms,
        "models",
        lambda it: statements(first(it, "AWS::KMS::Key", "Alarms")).pop(),
        "the key of prod-models.AlarmsTopic3A2DFEBA does not let CloudWatch kms:Decrypt",
    ),
    (
        "AWS's own key for SNS",
        unheard_alarms,
        "models",
        lambda it: first(it, "AWS::SNS::Topic")["Properties"].update(
            KmsMasterKeyId="alias/aws/sns"
        ),
        "prod-models.AlarmsTopic3A2DFEBA has a key whose policy is not ours",
    ),
    (
        "a topic without subscribers",
        unheard_alarms,
        "models",
        lambda it: drop(it, "AWS::SNS::Subscription"),
        "nobody is subscribed to prod-models.AlarmsTopic3A2DFEBA",
    ),
    (
        "an alarm without actions",
        unheard_alarms,
        "text",
        lambda it: first(it, "AWS::CloudWatch::Alarm", "Monitoring")["Properties"].pop(
            "AlarmActions"
        ),
        "tells nobody",
    ),
    (
        "an alarm that rolls nothing back",
        unheard_alarms,
        "text",
        lambda it: first(it, "AWS::SageMaker::Endpoint")["Properties"]["DeploymentConfig"].pop(
            "AutoRollbackConfiguration"
        ),
        "tells nobody",
    ),
]


@pytest.mark.parametrize(
    ("check", "stack", "break_", "told"), [it[1:] for it in GAPS], ids=[it[0] for it in GAPS]
)
def test_a_gap_is_seen(
    check: Check, stack: str, break_: Callable[[Resources], object], told: str, templates: Templates
) -> None:
    broken = copy.deepcopy(templates("prod"))
    break_(broken[f"prod-{stack}"]["Resources"])
    assert told in "\n".join(check(assembly("prod", broken)))
