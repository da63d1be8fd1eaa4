import json
from typing import Any

import pytest

from local_sagemaker.autoscaling.service import AutoScaling
from local_sagemaker.tests.autoscaling.conftest import (
    KEY,
    POLICY,
    TARGET,
    CloudWatch,
    Time,
    Variants,
)

ACTION: dict[str, Any] = {
    **KEY,
    "ScheduledActionName": "morning",
    "Schedule": "cron(0 8 * * ? *)",
    "ScalableTargetAction": {"MinCapacity": 4},
}


def targets(scaling: AutoScaling) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = scaling.describe_scalable_targets({})["ScalableTargets"]
    return result


def policies(scaling: AutoScaling) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = scaling.describe_scaling_policies({})["ScalingPolicies"]
    return result


# Targets


@pytest.mark.parametrize("end", ["deregister", "delete"])
def test_policies_and_alarms_are_deleted_with_the_target(
    scaling: AutoScaling, cloudwatch: CloudWatch, end: str
) -> None:
    scaling.register_scalable_target(TARGET)
    scaling.put_scaling_policy(POLICY)
    scaling.deregister_endpoint("tex")
    assert (len(targets(scaling)), len(policies(scaling))) == (1, 1)
    scaling.deregister_endpoint("text") if end == "delete" else scaling.deregister_scalable_target(
        KEY
    )
    assert (targets(scaling), policies(scaling), cloudwatch.alarms) == ([], [], {})


# Scheduled actions


def actions(scaling: AutoScaling) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = scaling.describe_scheduled_actions({})["ScheduledActions"]
    return result


def test_second_put_keeps_omitted_members_of_an_action(
    scaling: AutoScaling,
) -> None:
    scaling.register_scalable_target(TARGET)
    scaling.put_scheduled_action(ACTION)
    scaling.put_scheduled_action(
        {**KEY, "ScheduledActionName": "morning", "Schedule": "cron(0 * * * ? *)"}
    )
    (result,) = actions(scaling)
    assert result["Schedule"] == "cron(0 * * * ? *)"
    assert result["ScalableTargetAction"] == {"MinCapacity": 4}


def test_tags_of_a_target(scaling: AutoScaling) -> None:
    arn = scaling.register_scalable_target({**TARGET, "Tags": {"team": "shop"}})[
        "ScalableTargetARN"
    ]
    scaling.tag_resource({"ResourceARN": arn, "Tags": {"stage": "test"}})
    scaling.untag_resource({"ResourceARN": arn, "TagKeys": ["team", "absent"]})
    assert scaling.list_tags_for_resource({"ResourceARN": arn}) == {"Tags": {"stage": "test"}}


def test_targets_are_restored_with_policies_and_schedules(
    scaling: AutoScaling, variants: Variants, cloudwatch: CloudWatch, time: Time
) -> None:
    scaling.register_scalable_target({**TARGET, "Tags": {"team": "search"}})
    scaling.put_scaling_policy(POLICY)
    scaling.put_scheduled_action(ACTION)
    hosting: Any = variants
    restored = AutoScaling(hosting, cloudwatch, speed=1, clock=time)
    restored.restore(json.loads(json.dumps(scaling.records())))
    assert targets(restored) == targets(scaling)
    assert policies(restored) == policies(scaling)
    arn = targets(restored)[0]["ScalableTargetARN"]
    assert restored.list_tags_for_resource({"ResourceARN": arn}) == {"Tags": {"team": "search"}}
    time.now += 24 * 3600
    restored.scaler.tick()
    assert targets(restored)[0]["MinCapacity"] == 4
