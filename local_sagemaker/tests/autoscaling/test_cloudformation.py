"""Scalable targets and scaling policies in CloudFormation."""

from typing import Any

import pytest

from local_sagemaker.autoscaling.cloudformation import ScalableTarget, ScalingPolicy
from local_sagemaker.autoscaling.service import AutoScaling
from local_sagemaker.tests.autoscaling.conftest import CONFIGURATION, KEY, POLICY, TARGET
from local_sagemaker.tests.autoscaling.test_service import ACTION, actions, policies, targets

PHYSICAL_ID = "endpoint/text/variant/only|sagemaker:variant:DesiredInstanceCount|sagemaker"


@pytest.mark.parametrize("reference", [{"ScalingTargetId": PHYSICAL_ID}, KEY])
def test_policy_refers_to_its_target_by_id_or_by_parts(
    scaling: AutoScaling, reference: dict[str, str]
) -> None:
    properties = {name: value for name, value in POLICY.items() if name not in KEY} | reference
    ScalableTarget(scaling.service).create("Target", TARGET, "stack")
    handler = ScalingPolicy(scaling.service)
    arn, attributes = handler.create("Policy", properties, "stack")
    assert attributes == {"Arn": arn}
    assert policies(scaling)[0]["ResourceId"] == "endpoint/text/variant/only"
    changed = {**CONFIGURATION, "TargetValue": "80"}
    new = {**properties, "TargetTrackingScalingPolicyConfiguration": changed}
    assert handler.update(arn, properties, new, "stack") == (arn, {"Arn": arn})
    (policy,) = policies(scaling)
    assert policy["TargetTrackingScalingPolicyConfiguration"]["TargetValue"] == 80.0
    handler.delete(arn, new)
    assert policies(scaling) == []


def test_second_deletion_succeeds(
    scaling: AutoScaling,
) -> None:
    target, policy = ScalableTarget(scaling.service), ScalingPolicy(scaling.service)
    target.create("Target", TARGET, "stack")
    arn, _ = policy.create("Policy", POLICY, "stack")
    for _ in range(2):
        target.delete(PHYSICAL_ID, TARGET)
        policy.delete(arn, POLICY)
    assert (targets(scaling), policies(scaling)) == ([], [])


def test_update_replaces_scheduled_actions(scaling: AutoScaling) -> None:
    handler = ScalableTarget(scaling.service)

    def scheduled(*names: str, minimum: Any = 3) -> dict[str, Any]:
        keys = {"Schedule": ACTION["Schedule"], "ScalableTargetAction": {"MinCapacity": minimum}}
        scheduled_actions = [{**keys, "ScheduledActionName": name} for name in names]
        return {**TARGET, "ScheduledActions": scheduled_actions}

    first, second = scheduled("morning", "noon"), scheduled("noon", "evening", minimum="4")
    handler.create("Logical", first, "stack")
    assert {action["ScheduledActionName"] for action in actions(scaling)} == {"morning", "noon"}
    handler.update(PHYSICAL_ID, first, second, "stack")
    assert {
        action["ScheduledActionName"]: action["ScalableTargetAction"] for action in actions(scaling)
    } == {
        "noon": {"MinCapacity": 4},
        "evening": {"MinCapacity": 4},
    }
    handler.update(PHYSICAL_ID, second, TARGET, "stack")
    assert actions(scaling) == []
