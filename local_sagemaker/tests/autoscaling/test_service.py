from typing import Any

import pytest

from local_sagemaker.autoscaling.service import AutoScaling
from local_sagemaker.errors import ApiError
from local_sagemaker.tests.autoscaling.conftest import (
    CONFIGURATION,
    KEY,
    POLICY,
    STEPS,
    TARGET,
    CloudWatch,
    custom,
    policy,
    tracking,
)

ARN = "arn:aws:application-autoscaling:us-east-1:000000000000"
NOT_REGISTERED = (
    "No scalable target registered for service namespace: sagemaker, resource ID: "
    "endpoint/text/variant/only, scalable dimension: sagemaker:variant:DesiredInstanceCount"
)
AVERAGE = {"Metrics": [{"Id": "all", "Expression": "AVG(METRICS())"}]}
ACTION: dict[str, Any] = {
    **KEY,
    "ScheduledActionName": "morning",
    "Schedule": "cron(0 8 * * ? *)",
    "ScalableTargetAction": {"MinCapacity": 4},
}
POLICY_ARN = (
    r"arn:aws:autoscaling:us-east-1:000000000000:scalingPolicy:[\w-]{36}:"
    "resource/sagemaker/endpoint/text/variant/only:policyName/calls"
)


def targets(scaling: AutoScaling) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = scaling.describe_targets({})["ScalableTargets"]
    return result


def policies(scaling: AutoScaling) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = scaling.describe_policies({})["ScalingPolicies"]
    return result


# Targets


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        ("table/text", "Invalid resource ID table/text"),
        ("endpoint/text", "Invalid resource ID endpoint/text"),
        ("endpoint/text/variant/a/b", "Invalid resource ID endpoint/text/variant/a/b"),
        ("endpoint/none/variant/only", 'Could not find endpoint "none".'),
        (
            "endpoint/text/variant/other",
            "SageMaker variant not found: endpoint/text/variant/other",
        ),
    ],
)
def test_only_variants_that_exist_are_registered(
    scaling: AutoScaling, resource: str, message: str
) -> None:
    with pytest.raises(ApiError) as refused:
        scaling.register({**TARGET, "ResourceId": resource})
    assert (refused.value.code, refused.value.message) == ("ValidationException", message)
    assert targets(scaling) == []


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({**TARGET, "MinCapacity": 7}, "Minimum capacity cannot be greater than maximum capacity."),
        ({**KEY, "MaxCapacity": 6}, "A new scalable target needs MinCapacity."),
        ({**KEY, "MinCapacity": 6}, "A new scalable target needs MaxCapacity."),
    ],
)
def test_limits_are_needed_and_in_order(
    scaling: AutoScaling, target: dict[str, Any], message: str
) -> None:
    with pytest.raises(ApiError) as refused:
        scaling.register(target)
    assert (refused.value.code, refused.value.message) == ("ValidationException", message)
    assert targets(scaling) == []


@pytest.mark.parametrize("end", ["deregister", "forget"])
def test_policies_and_their_alarms_go_with_the_target(
    scaling: AutoScaling, cloudwatch: CloudWatch, end: str
) -> None:
    scaling.register(TARGET)
    scaling.put_policy(POLICY)
    scaling.forget("tex")
    assert (len(targets(scaling)), len(policies(scaling))) == (1, 1)
    scaling.forget("text") if end == "forget" else scaling.deregister(KEY)
    assert (targets(scaling), policies(scaling), cloudwatch.alarms) == ([], [], {})


# Policies


def test_what_is_not_registered_has_no_policy(scaling: AutoScaling) -> None:
    for call, request, message in (
        (scaling.put_policy, POLICY, NOT_REGISTERED),
        (scaling.put_action, ACTION, NOT_REGISTERED),
        (scaling.deregister, KEY, NOT_REGISTERED),
        (scaling.delete_policy, {**KEY, "PolicyName": "calls"}, "No scaling policy found."),
        (scaling.delete_action, ACTION, "No scheduled action found."),
    ):
        with pytest.raises(ApiError) as refused:
            call(request)
        assert refused.value.code == "ObjectNotFoundException"
        assert refused.value.message == message


@pytest.mark.parametrize(("resource", "count"), [(KEY["ResourceId"], 1), ("endpoint/x", 0)])
def test_targets_are_filtered_by_their_resources(
    scaling: AutoScaling, resource: str, count: int
) -> None:
    scaling.register(TARGET)
    request = {"ServiceNamespace": "sagemaker", "ResourceIds": [resource]}
    assert len(scaling.describe_targets(request)["ScalableTargets"]) == count


def test_two_policies_of_a_target_have_different_metrics(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    scaling.put_policy(POLICY)
    with pytest.raises(ApiError, match="Only one TargetTrackingScaling policy for a given metric"):
        scaling.put_policy(policy("again", {**CONFIGURATION, "TargetValue": 1.0}))
    assert [each["PolicyName"] for each in policies(scaling)] == ["calls"]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({**POLICY, "PolicyType": "PredictiveScaling"}, "has no PredictiveScaling"),
        ({**POLICY, "PolicyType": "StepScaling"}, "needs a StepScalingPolicyConfiguration"),
        (
            {**STEPS, "StepScalingPolicyConfiguration": {"AdjustmentType": "ExactCapacity"}},
            "with AdjustmentType ChangeInCapacity",
        ),
        (policy("calls", {"TargetValue": 1.0}), "Exactly one of PredefinedMetricSpecification"),
        (
            policy("calls", {**CONFIGURATION, **custom("m")}),
            "Exactly one of PredefinedMetricSpecification",
        ),
        (
            policy(
                "calls",
                {
                    "TargetValue": 1.0,
                    "PredefinedMetricSpecification": {
                        "PredefinedMetricType": "DynamoDBReadCapacityUtilization"
                    },
                },
            ),
            "DynamoDBReadCapacityUtilization is not of sagemaker:variant:DesiredInstanceCount",
        ),
        (
            policy("calls", tracking("SageMakerInferenceComponentInvocationsPerCopy")),
            "InvocationsPerCopy is not of sagemaker:variant:DesiredInstanceCount",
        ),
        (
            policy("calls", {"TargetValue": 1.0, "CustomizedMetricSpecification": {}}),
            "CustomizedMetricSpecification needs Metrics, or MetricName",
        ),
        (
            policy("calls", {"TargetValue": 1.0, "CustomizedMetricSpecification": AVERAGE}),
            r"computes one expression .*, not AVG\(METRICS\(\)\)",
        ),
    ],
)
def test_a_policy_that_could_never_act_is_refused(
    scaling: AutoScaling, cloudwatch: CloudWatch, request_: dict[str, Any], message: str
) -> None:
    scaling.register(TARGET)
    with pytest.raises(ApiError, match=message):
        scaling.put_policy(request_)
    assert (policies(scaling), cloudwatch.alarms) == ([], {})


# Scheduled actions


def actions(scaling: AutoScaling) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = scaling.describe_actions({})["ScheduledActions"]
    return result


def test_of_an_action_that_is_put_again_members_that_are_not_named_stay(
    scaling: AutoScaling,
) -> None:
    scaling.register(TARGET)
    scaling.put_action(ACTION)
    scaling.put_action({**KEY, "ScheduledActionName": "morning", "Schedule": "cron(0 * * * ? *)"})
    (result,) = actions(scaling)
    assert result["Schedule"] == "cron(0 * * * ? *)"
    assert result["ScalableTargetAction"] == {"MinCapacity": 4}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Schedule": "every morning"}, "Invalid schedule: 'every morning' is not at"),
        ({"ScalableTargetAction": {}}, "Specify a minimum or maximum capacity"),
        ({"Timezone": "Mars"}, "Invalid schedule: 'Mars' is not a time zone"),
        (
            {"ScalableTargetAction": {"MinCapacity": 3, "MaxCapacity": 2}},
            "Minimum capacity cannot be greater",
        ),
    ],
)
def test_a_scheduled_action_that_makes_no_sense_is_refused(
    scaling: AutoScaling, change: dict[str, Any], message: str
) -> None:
    scaling.register(TARGET)
    with pytest.raises(ApiError, match=message):
        scaling.put_action({**ACTION, **change})
    assert actions(scaling) == []


def test_a_scheduled_action_is_deleted_alone_or_with_its_target(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    scaling.put_action(ACTION)
    scaling.put_action({**ACTION, "ScheduledActionName": "evening"})
    scaling.delete_action({**KEY, "ScheduledActionName": "morning"})
    assert [action["ScheduledActionName"] for action in actions(scaling)] == ["evening"]
    scaling.deregister(KEY)
    assert actions(scaling) == []
