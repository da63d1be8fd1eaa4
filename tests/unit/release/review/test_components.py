"""Changes of inference components that a review must judge, and what it says of them."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from release.review.comparison import Comparison
from release.review.dangers import dangers
from release.review.dangers.danger import Danger
from release.review.dangers.endpoints import removed_endpoints
from release.review.endpoint_changes import endpoint_changes
from release.review.money import HOURS, cost_changes
from release.tree import Template
from tests.unit.release.review.edits import PROD, Edit, compared, drop, put, together
from tests.unit.release.review.resources import RESOURCES

NAME = "prod-text-g5-xlarge-minilm"
COMPONENT = "AWS::SageMaker::InferenceComponent"
NEEDS = ("Specification", "ComputeResourceRequirements")
INSTANCES = ("Config", "ProductionVariants", 0, "ManagedInstanceScaling")


def base() -> dict[str, Any]:
    """Return a stack of one component with 1 to 4 copies on 1 to 4 instances, which can wake."""
    resources = copy.deepcopy(RESOURCES)
    resources["Model"]["Properties"]["PrimaryContainer"].pop("Mode")
    resources["Endpoint"]["Properties"] = {"EndpointName": "prod-text-g5-xlarge"}
    variant = resources["Config"]["Properties"]["ProductionVariants"][0]
    del variant["ModelName"]
    variant["ManagedInstanceScaling"] = {
        "Status": "ENABLED",
        "MinInstanceCount": 1,
        "MaxInstanceCount": 4,
    }
    entry = {
        "model": "minilm",
        "version": "1",
        "endpoint": "prod-text-g5-xlarge",
        "target_model": None,
        "inference_component": NAME,
        "signature": {"inputs": [], "outputs": [], "max_batch_size": 1},
    }
    resources["Entry"]["Properties"]["Value"] = json.dumps(entry)
    return resources | {
        "Component": {
            "Type": COMPONENT,
            "Properties": {
                "InferenceComponentName": NAME,
                "EndpointName": {"Fn::GetAtt": ["Endpoint", "EndpointName"]},
                "VariantName": "AllTraffic",
                "RuntimeConfig": {"CopyCount": 1},
                "Specification": {
                    "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]},
                    "ComputeResourceRequirements": {
                        "MinMemoryRequiredInMb": 1024,
                        "NumberOfAcceleratorDevicesRequired": 1,
                    },
                },
                "DeploymentConfig": {
                    "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": {"Ref": "Errors"}}]},
                    "RollingUpdatePolicy": {
                        "MaximumBatchSize": {"Type": "CAPACITY_PERCENT", "Value": 25},
                        "WaitIntervalInSeconds": 60,
                    },
                },
            },
        },
        "Errors": {"Type": "AWS::CloudWatch::Alarm", "Properties": {"MetricName": "Errors"}},
        "Target": {
            "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
            "Properties": {
                "ResourceId": f"inference-component/{NAME}",
                "ScalableDimension": "sagemaker:inference-component:DesiredCopyCount",
                "MinCapacity": 1,
                "MaxCapacity": 4,
            },
        },
        "Wake": {
            "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
            "Properties": {"PolicyType": "StepScaling", "ScalingTargetId": {"Ref": "Target"}},
        },
        "WakeAlarm": {
            "Type": "AWS::CloudWatch::Alarm",
            "Properties": {
                "MetricName": "NoCapacityInvocationFailures",
                "Dimensions": [{"Name": "InferenceComponentName", "Value": NAME}],
                "Statistic": "Sum",
                "ComparisonOperator": "GreaterThanOrEqualToThreshold",
                "Threshold": 1,
                "AlarmActions": [{"Ref": "Wake"}],
            },
        },
    }


def change(edit: Edit, before: Edit | None = None) -> Comparison:
    old = base()
    if before:
        before(old)
    new = copy.deepcopy(old)
    edit(new)
    return compared(old, new)


def messages_of(comparison: Comparison) -> list[str]:
    return [f"{danger.rule}: {danger.message}" for danger in dangers(comparison)]


NO_COPY = put("Target", "MinCapacity", 0)
NO_INSTANCE = put(*INSTANCES, "MinInstanceCount", 0)
SLEEPS = together(NO_COPY, NO_INSTANCE)
DANGERS: dict[str, tuple[Edit, str]] = {
    "scales to zero": (
        SLEEPS,
        "low_minimum: prod-text-g5-xlarge can scale in to zero, which saves up to "
        f"{1.4 * HOURS:,.0f} USD a month: invocations then fail, and a cold start takes minutes "
        "(published measurements: 5 and 9, docs/hosting-modes.md)",
    ),
    "no copy, though its instance stays": (
        NO_COPY,
        f"{NAME} over a week: 1 to 4 -> 0 to 4 copies",
    ),
    "to zero without its alarm": (
        together(SLEEPS, drop("WakeAlarm")),
        f"never_woken: {NAME} may scale to no copy, and one refused call adds none",
    ),
    "to zero without its policy": (together(SLEEPS, drop("Wake")), "never_woken: "),
    "to zero with a policy of target tracking": (
        together(SLEEPS, put("Wake", "PolicyType", "TargetTrackingScaling")),
        "never_woken: ",
    ),
    "to zero with an alarm on two calls": (
        together(SLEEPS, put("WakeAlarm", "Threshold", 2)),
        "never_woken: ",
    ),
    "to zero with an alarm on more than one call, as in the developer guide": (
        together(SLEEPS, put("WakeAlarm", "ComparisonOperator", "GreaterThanThreshold")),
        "never_woken: ",
    ),
    "to zero with an alarm of another component": (
        together(SLEEPS, put("WakeAlarm", "Dimensions", 0, "Value", "other")),
        "never_woken: ",
    ),
    "to zero with an alarm that does nothing": (
        together(SLEEPS, drop("WakeAlarm", "AlarmActions")),
        "never_woken: ",
    ),
    "more GPUs than an instance has": (
        put("Component", *NEEDS, "NumberOfAcceleratorDevicesRequired", 2),
        f"unplaced_copies: a copy of {NAME} reserves 2 GPUs, and ml.g5.xlarge has 1",
    ),
    "more copies than instances": (
        put("Target", "MaxCapacity", 8),
        f"unplaced_copies: 8 copies of {NAME}, with the fewest of other components, reserve 8 "
        "GPUs, and the most instances have 4: the rest is not started",
    ),
    "fewer instances than copies": (
        put(*INSTANCES, "MaxInstanceCount", 3),
        f"unplaced_copies: 4 copies of {NAME}, with the fewest of other components, reserve 4 "
        "GPUs, and the most instances have 3",
    ),
    "more vCPUs than the instances have": (
        put("Component", *NEEDS, "NumberOfCpuCoresRequired", 5),
        f"unplaced_copies: a copy of {NAME} reserves 5 vCPUs, and ml.g5.xlarge has 4",
    ),
    "the component is gone, and the catalog names it": (
        together(drop("Component"), drop("Target"), drop("Wake")),
        "missing_components: the catalog sends clients of minilm to the inference component "
        f"{NAME}, which the stack does not have: every call fails",
    ),
    "the model is gone, with its component": (
        together(drop("Component"), drop("Target"), drop("Wake"), drop("Entry")),
        "dropped_models: prod-text-g5-xlarge no longer has minilm in its catalog",
    ),
    "renamed in place": (
        put("Component", "InferenceComponentName", "other"),
        f"refused_updates: {COMPONENT} prod-text/Component: InferenceComponentName: {NAME} -> "
        "other: no update of a component does that; give the new one another logical id",
    ),
    "another endpoint in place": (
        put("Component", "EndpointName", "other"),
        "EndpointName: Endpoint -> other: no update of a component does that",
    ),
    "another instance type under the same name": (
        put("Config", "ProductionVariants", 0, "InstanceType", "ml.g5.2xlarge"),
        "refused_updates: the update of prod-text-g5-xlarge is refused before it begins: SageMaker "
        "gives an endpoint of inference components no other instance type. Deploy a second "
        "endpoint, and move the clients",
    ),
    "another instance type under another name": (
        together(
            put("Config", "ProductionVariants", 0, "InstanceType", "ml.g5.2xlarge"),
            put("Endpoint", "EndpointName", "prod-text-g5-2xlarge"),
        ),
        "removed_endpoints: the endpoint prod-text-g5-xlarge becomes prod-text-g5-2xlarge",
    ),
    "no rollback": (
        drop("Component", "DeploymentConfig", "AutoRollbackConfiguration"),
        f"lost_rollback: {COMPONENT} prod-text/Component: updates are no longer rolled back by "
        "Errors",
    ),
    "no scaling": (
        together(drop("Target"), drop("Wake"), drop("WakeAlarm")),
        f"{NAME} is no longer scaled: 1 copies, before 1 to 4",
    ),
    "single-model hosting": (
        put(
            "Config",
            "ProductionVariants",
            0,
            "ModelName",
            {"Fn::GetAtt": ["Model", "ModelName"]},
        ),
        "refused before it begins: clients that name a TargetModel, a component, or neither, "
        "would be refused at once",
    ),
}


@pytest.mark.parametrize("kind", DANGERS)
def test_a_dangerous_change_of_a_component_is_a_danger(kind: str) -> None:
    edit, text = DANGERS[kind]
    messages = messages_of(change(edit))
    assert any(text in message for message in messages), messages


def test_the_log_of_an_endpoint_that_leaves_is_explained_by_it() -> None:
    """The log is named after the endpoint in the stage's file, without the instance type."""
    before: dict[str, Template] = {"prod-text": {"Resources": base()}}
    after: dict[str, Template] = {"prod-models": {"Resources": {}}}
    [removed] = removed_endpoints(Comparison("prod", before, after, was=PROD, will_be=PROD))
    assert removed.subject == "prod-text-g5-xlarge"
    assert removed.explains
    log = Danger("prod-models.Log-text/Resource", "", rule="replaced_resources")
    assert removed.explains(log)
    assert not removed.explains(replace(log, subject="prod-models.Log-texts/Resource"))


HARMLESS: dict[str, tuple[Edit, str]] = {
    "more memory": (
        put("Component", *NEEDS, "MinMemoryRequiredInMb", 2048),
        "MiB that each copy reserves, all of which are replaced: 1024 -> 2048",
    ),
    "more copies, and the instances for them": (
        together(put("Target", "MaxCapacity", 8), put(*INSTANCES, "MaxInstanceCount", 8)),
        f"{NAME} over a week: 1 to 4 -> 1 to 8 copies",
    ),
    "an instance more at most": (
        put(*INSTANCES, "MaxInstanceCount", 5),
        "limit of the instances for copies of AllTraffic: 4 -> 5",
    ),
    "other batches": (
        put(
            *("Component", "DeploymentConfig", "RollingUpdatePolicy", "MaximumBatchSize"),
            {"Type": "COPY_COUNT", "Value": 1},
        ),
        "later updates of copies: rolling 25 % every 60 s, rolled back on 1 alarms -> rolling 1 "
        "copies every 60 s, rolled back on 1 alarms",
    ),
    "another model": (
        together(
            lambda resources: resources.update(Other=copy.deepcopy(resources["Model"])),
            put("Component", "Specification", "ModelName", {"Fn::GetAtt": ["Other", "ModelName"]}),
        ),
        "Specification.ModelName: Model -> Other",
    ),
    "one more alarm": (
        put(
            *("Component", "DeploymentConfig", "AutoRollbackConfiguration", "Alarms"),
            [{"AlarmName": {"Ref": "Errors"}}, {"AlarmName": {"Ref": "WakeAlarm"}}],
        ),
        "rolled back on 1 alarms -> rolling 25 % every 60 s, rolled back on 2 alarms",
    ),
    "a second step": (
        lambda resources: resources.update(Other=copy.deepcopy(resources["Wake"])),
        "StepScaling policy new",
    ),
    "another count at creation": (
        put("Component", "RuntimeConfig", "CopyCount", 2),
        "copies that it is created with, which this update may set, too: 1 -> 2",
    ),
}


@pytest.mark.parametrize("kind", HARMLESS)
def test_a_harmless_change_of_a_component_is_described_and_no_danger(kind: str) -> None:
    edit, text = HARMLESS[kind]
    comparison = change(edit)
    assert messages_of(comparison) == []
    (endpoint,) = endpoint_changes(comparison)
    assert text in endpoint.sentence


def test_what_was_so_before_is_no_danger_of_a_change() -> None:
    asleep = together(SLEEPS, drop("WakeAlarm"), put("Target", "MaxCapacity", 9))
    more = put("Component", *NEEDS, "MinMemoryRequiredInMb", 2048)
    assert messages_of(change(more, before=asleep)) == []
    awake = together(put("Target", "MinCapacity", 1), put(*INSTANCES, "MinInstanceCount", 1))
    assert messages_of(change(awake, before=SLEEPS)) == []


@pytest.mark.parametrize(
    ("copies", "instances", "least"), [(0, 0, 0), (1, 0, 1), (0, 1, 1), (0, 2, 2)]
)
def test_instances_cost_nothing_only_while_neither_they_nor_copies_are_kept(
    copies: int, instances: int, least: int
) -> None:
    limits = put("Target", "MinCapacity", copies), put(*INSTANCES, "MinInstanceCount", instances)
    (cost,) = cost_changes(change(together(*limits)))
    assert cost.after
    assert (cost.after.minimum, cost.after.maximum) == (1.4 * least * HOURS, 1.4 * 4 * HOURS)


def test_copies_count_beside_the_fewest_of_other_components_and_not_beside_the_most() -> None:
    def with_another(fewest: int) -> dict[str, Any]:
        new = base()
        for name in ("Component", "Target"):
            new[f"Other{name}"] = copy.deepcopy(new[name])
        new["OtherComponent"]["Properties"]["InferenceComponentName"] = "other"
        new["OtherTarget"]["Properties"] |= {
            "ResourceId": "inference-component/other",
            "MinCapacity": fewest,
        }
        new["Target"]["Properties"]["MinCapacity"] = 0
        return new

    assert messages_of(compared(with_another(0), with_another(1))) == [
        f"unplaced_copies: 4 copies of {NAME}, with the fewest of other components, reserve 5 "
        "GPUs, and the most instances have 4: the rest is not started"
    ]


def test_copies_that_fill_a_gpu_each_cost_an_instance_each() -> None:
    (cost,) = cost_changes(change(put("Target", "MinCapacity", 3)))
    assert cost.after
    assert cost.after.minimum == 1.4 * 3 * HOURS


def test_a_new_endpoint_is_described_with_its_copies() -> None:
    comparison = compared({}, base())
    (endpoint,) = endpoint_changes(comparison)
    assert f"ml.g5.xlarge, 1-4 instances; {NAME}, 1-4 copies; models: minilm" in endpoint.sentence


def test_the_copies_of_a_component_split_sequences_though_they_share_an_instance(
    tmp_path: Path,
) -> None:
    config = tmp_path / "minilm" / "minilm" / "config.pbtxt"
    config.parent.mkdir(parents=True)
    config.write_text('name: "minilm"\nsequence_batching { }\n')
    text = "batches sequences, whose requests go to up to 4 copies: each has a part of their state"
    for most, expected in ((4, [f"minilm of prod-text-g5-xlarge {text}"]), (1, [])):
        new = base()
        new["Target"]["Properties"]["MaxCapacity"] = most
        comparison = compared({}, new, models=(None, tmp_path))
        dangers_of = [each for each in dangers(comparison) if each.rule == "split_sequences"]
        assert [each.message for each in dangers_of] == expected
