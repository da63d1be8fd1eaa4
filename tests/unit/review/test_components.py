"""Dangers and descriptions of changed inference components."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from release.templates import Template
from review.comparison import Comparison
from review.dangers import dangers
from review.dangers.danger import Danger
from review.dangers.endpoints import removed_endpoints
from review.endpoint_changes import endpoint_changes
from review.money import HOURS_PER_MONTH, cost_changes
from tests.unit.review.edits import PROD, Edit, compare, drop, put, together
from tests.unit.review.resources import RESOURCES

NAME = "prod-text-g5-xlarge-minilm"
COMPONENT = "AWS::SageMaker::InferenceComponent"
REQUIREMENTS = ("Specification", "ComputeResourceRequirements")
INSTANCE_SCALING = ("Config", "ProductionVariants", 0, "ManagedInstanceScaling")


def base_resources() -> dict[str, Any]:
    """Return a stack with a component of 1 to 4 copies, which can scale out from zero."""
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


def compare_edit(edit: Edit, before: Edit | None = None) -> Comparison:
    old = base_resources()
    if before:
        before(old)
    new = copy.deepcopy(old)
    edit(new)
    return compare(old, new)


def messages_of(comparison: Comparison) -> list[str]:
    return [f"{danger.rule}: {danger.message}" for danger in dangers(comparison)]


NO_MINIMUM_COPY = put("Target", "MinCapacity", 0)
NO_MINIMUM_INSTANCE = put(*INSTANCE_SCALING, "MinInstanceCount", 0)
SCALE_TO_ZERO = together(NO_MINIMUM_COPY, NO_MINIMUM_INSTANCE)
DANGERS: dict[str, tuple[Edit, str]] = {
    "scale to zero": (
        SCALE_TO_ZERO,
        "low_availability: prod-text-g5-xlarge can scale in to zero, which saves up to "
        f"{1.4 * HOURS_PER_MONTH:,.0f} USD a month: invocations then fail, and a cold start takes "
        "minutes (published measurements: 5 and 9, docs/hosting-modes.md)",
    ),
    "scale to zero without an alarm": (
        together(SCALE_TO_ZERO, drop("WakeAlarm")),
        f"no_scale_from_zero_alarm: {NAME} can scale in to zero copies and does not scale out "
        "again: add ",
    ),
    "scale to zero with target tracking": (
        together(SCALE_TO_ZERO, put("Wake", "PolicyType", "TargetTrackingScaling")),
        "no_scale_from_zero_alarm: ",
    ),
    "alarm on more than one failure": (
        together(SCALE_TO_ZERO, put("WakeAlarm", "ComparisonOperator", "GreaterThanThreshold")),
        "no_scale_from_zero_alarm: ",
    ),
    "alarm without actions": (
        together(SCALE_TO_ZERO, drop("WakeAlarm", "AlarmActions")),
        "no_scale_from_zero_alarm: ",
    ),
    "more GPUs than an instance has": (
        put("Component", *REQUIREMENTS, "NumberOfAcceleratorDevicesRequired", 2),
        f"insufficient_capacity: a copy of {NAME} reserves 2 GPUs, but ml.g5.xlarge has 1",
    ),
    "more copies than instances": (
        put("Target", "MaxCapacity", 8),
        f"insufficient_capacity: 8 copies of {NAME} and the minimum copies of all other components "
        "reserve 8 GPUs, but 4 instances have 4: the remaining copies do not start",
    ),
    "component removed": (
        together(drop("Component"), drop("Target"), drop("Wake")),
        "missing_components: the catalog sends clients of minilm to the inference component "
        f"{NAME}, which the stack does not have: every call fails",
    ),
    "component renamed": (
        put("Component", "InferenceComponentName", "other"),
        f"rejected_updates: {COMPONENT} prod-text/Component: InferenceComponentName: {NAME} -> "
        "other: an update of a component cannot change this: give the new component another "
        "logical ID",
    ),
    "instance type changed": (
        put("Config", "ProductionVariants", 0, "InstanceType", "ml.g5.2xlarge"),
        "rejected_updates: the update of prod-text-g5-xlarge is rejected before it begins: "
        "SageMaker does not change the instance type of inference components. Deploy a second "
        "endpoint, and move the clients",
    ),
    "rollback alarms removed": (
        drop("Component", "DeploymentConfig", "AutoRollbackConfiguration"),
        f"lost_rollback: {COMPONENT} prod-text/Component: updates are no longer rolled back by "
        "Errors",
    ),
    "single-model hosting": (
        put(
            "Config",
            "ProductionVariants",
            0,
            "ModelName",
            {"Fn::GetAtt": ["Model", "ModelName"]},
        ),
        "rejected before it begins: clients of the old hosting mode (TargetModel, component, or "
        "neither) would fail",
    ),
}


@pytest.mark.parametrize("title", DANGERS)
def test_dangerous_change(title: str) -> None:
    edit, text = DANGERS[title]
    messages = messages_of(compare_edit(edit))
    assert any(text in message for message in messages), messages


def test_removed_endpoint_explains_its_log_group() -> None:
    """The log group has the endpoint's name in the stage file, without the instance type."""
    before: dict[str, Template] = {"prod-text": {"Resources": base_resources()}}
    after: dict[str, Template] = {"prod-models": {"Resources": {}}}
    [removed] = removed_endpoints(
        Comparison("prod", before, after, file_before=PROD, file_after=PROD)
    )
    assert removed.subject == "prod-text-g5-xlarge"
    assert removed.explains
    log = Danger("prod-models.Log-text/Resource", "", rule="replaced_resources")
    assert removed.explains(log)
    assert not removed.explains(replace(log, subject="prod-models.Log-texts/Resource"))


HARMLESS: dict[str, tuple[Edit, str]] = {
    "more copies and instances": (
        together(put("Target", "MaxCapacity", 8), put(*INSTANCE_SCALING, "MaxInstanceCount", 8)),
        f"{NAME} over a week: 1 to 4 -> 1 to 8 copies",
    ),
    "batch size": (
        put(
            *("Component", "DeploymentConfig", "RollingUpdatePolicy", "MaximumBatchSize"),
            {"Type": "COPY_COUNT", "Value": 1},
        ),
        "later updates of copies: rolling 25 % every 60 s, rolled back on 1 alarms -> rolling 1 "
        "copies every 60 s, rolled back on 1 alarms",
    ),
    "model changed": (
        together(
            lambda resources: resources.update(Other=copy.deepcopy(resources["Model"])),
            put("Component", "Specification", "ModelName", {"Fn::GetAtt": ["Other", "ModelName"]}),
        ),
        "Specification.ModelName: Model -> Other",
    ),
    "initial number of copies": (
        put("Component", "RuntimeConfig", "CopyCount", 2),
        "initial number of copies (this update may also set it): 1 -> 2",
    ),
}


@pytest.mark.parametrize("title", HARMLESS)
def test_harmless_change(title: str) -> None:
    edit, text = HARMLESS[title]
    comparison = compare_edit(edit)
    assert messages_of(comparison) == []
    (endpoint,) = endpoint_changes(comparison)
    assert text in endpoint.sentence


def test_existing_problem_is_not_reported() -> None:
    scaled_to_zero = together(SCALE_TO_ZERO, drop("WakeAlarm"), put("Target", "MaxCapacity", 9))
    more_memory = put("Component", *REQUIREMENTS, "MinMemoryRequiredInMb", 2048)
    assert messages_of(compare_edit(more_memory, before=scaled_to_zero)) == []
    scaled_out = together(
        put("Target", "MinCapacity", 1), put(*INSTANCE_SCALING, "MinInstanceCount", 1)
    )
    assert messages_of(compare_edit(scaled_out, before=SCALE_TO_ZERO)) == []


@pytest.mark.parametrize(
    ("copies", "instances", "minimum"), [(0, 0, 0), (1, 0, 1), (0, 1, 1), (0, 2, 2)]
)
def test_minimum_cost_depends_on_instances_and_copies(
    copies: int, instances: int, minimum: int
) -> None:
    limits = (
        put("Target", "MinCapacity", copies),
        put(*INSTANCE_SCALING, "MinInstanceCount", instances),
    )
    (cost,) = cost_changes(compare_edit(together(*limits)))
    assert cost.after
    assert (cost.after.minimum, cost.after.maximum) == (
        1.4 * minimum * HOURS_PER_MONTH,
        1.4 * 4 * HOURS_PER_MONTH,
    )


def test_copies_share_instances_with_other_components() -> None:
    def with_other_component(minimum: int) -> dict[str, Any]:
        new = base_resources()
        for name in ("Component", "Target"):
            new[f"Other{name}"] = copy.deepcopy(new[name])
        new["OtherComponent"]["Properties"]["InferenceComponentName"] = "other"
        new["OtherTarget"]["Properties"] |= {
            "ResourceId": "inference-component/other",
            "MinCapacity": minimum,
        }
        new["Target"]["Properties"]["MinCapacity"] = 0
        return new

    assert messages_of(compare(with_other_component(0), with_other_component(1))) == [
        f"insufficient_capacity: 4 copies of {NAME} and the minimum copies of all other components "
        "reserve 5 GPUs, but 4 instances have 4: the remaining copies do not start"
    ]


def test_new_endpoint_is_described_with_its_copies() -> None:
    comparison = compare({}, base_resources())
    (endpoint,) = endpoint_changes(comparison)
    assert f"ml.g5.xlarge, 1-4 instances; {NAME}, 1-4 copies; models: minilm" in endpoint.sentence


def test_sequence_batching_with_several_copies(
    tmp_path: Path,
) -> None:
    config = tmp_path / "minilm" / "minilm" / "config.pbtxt"
    config.parent.mkdir(parents=True)
    config.write_text('name: "minilm"\nsequence_batching { }\n')
    for maximum in (1, 4):
        new = base_resources()
        new["Target"]["Properties"]["MaxCapacity"] = maximum
        messages = messages_of(compare({}, new, models=(None, tmp_path)))
        is_danger = any(
            "requests of a sequence to up to 4 copies" in message for message in messages
        )
        assert is_danger == (maximum > 1)
