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
    ("target", "message"),
    [
        (TARGET | {"ResourceId": "table/text"}, "Invalid resource ID table/text"),
        (TARGET | {"ResourceId": "endpoint/text/variant/a/b"},
         "Invalid resource ID endpoint/text/variant/a/b"),
        (TARGET | {"ResourceId": "endpoint/none/variant/only"}, 'Could not find endpoint "none".'),
        (TARGET | {"ResourceId": "endpoint/text/variant/other"},
         "SageMaker variant not found: endpoint/text/variant/other"),
        (TARGET | {"ScalableDimension": "sagemaker:variant:DesiredProvisionedConcurrency"},
         "The local SageMaker does not support the scalable dimension "
         "sagemaker:variant:DesiredProvisionedConcurrency."),
        (TARGET | {"MinCapacity": 7}, "Minimum capacity cannot be greater than maximum capacity."),
        ({**KEY, "MaxCapacity": 6}, "A new scalable target needs MinCapacity."),
        ({**KEY, "MinCapacity": 6}, "A new scalable target needs MaxCapacity."),
    ],
)  # fmt: skip
def test_invalid_target_is_refused(
    scaling: AutoScaling, target: dict[str, Any], message: str
) -> None:
    with pytest.raises(ApiError) as exc_info:
        scaling.register(target)
    assert (exc_info.value.code, exc_info.value.message) == ("ValidationException", message)
    assert targets(scaling) == []


@pytest.mark.parametrize("end", ["deregister", "delete"])
def test_policies_and_alarms_are_deleted_with_the_target(
    scaling: AutoScaling, cloudwatch: CloudWatch, end: str
) -> None:
    scaling.register(TARGET)
    scaling.put_policy(POLICY)
    scaling.deregister_endpoint("tex")
    assert (len(targets(scaling)), len(policies(scaling))) == (1, 1)
    scaling.deregister_endpoint("text") if end == "delete" else scaling.deregister(KEY)
    assert (targets(scaling), policies(scaling), cloudwatch.alarms) == ([], [], {})


# Policies


def test_unregistered_target_is_an_error(scaling: AutoScaling) -> None:
    for call, request, message in (
        (scaling.put_policy, POLICY, NOT_REGISTERED),
        (scaling.put_action, ACTION, NOT_REGISTERED),
        (scaling.deregister, KEY, NOT_REGISTERED),
        (scaling.delete_policy, {**KEY, "PolicyName": "calls"}, "No scaling policy found."),
        (scaling.delete_action, ACTION, "No scheduled action found."),
    ):
        with pytest.raises(ApiError) as exc_info:
            call(request)
        assert exc_info.value.code == "ObjectNotFoundException"
        assert exc_info.value.message == message


def test_second_policy_on_a_metric_is_refused(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    scaling.put_policy(POLICY)
    with pytest.raises(ApiError, match="Only one TargetTrackingScaling policy for a given metric"):
        scaling.put_policy(policy("again", {**CONFIGURATION, "TargetValue": 1.0}))
    assert [policy["PolicyName"] for policy in policies(scaling)] == ["calls"]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({**POLICY, "PolicyType": "PredictiveScaling"}, "policies of type Predict"),
        ({**POLICY, "PolicyType": "StepScaling"}, "needs a StepScalingPolicyConfiguration"),
        ({**STEPS, "StepScalingPolicyConfiguration": {"AdjustmentType": "ExactCapacity"}},
         "with AdjustmentType ChangeInCapacity"),
        (policy("calls", {"TargetValue": 1.0}), "Exactly one of PredefinedMetricSpecification"),
        (policy("calls", {**CONFIGURATION, **custom("m")}),
         "Exactly one of PredefinedMetricSpecification"),
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
            "ReadCapacityUtilization cannot be used for sagemaker:variant:DesiredInstanceCount",
        ),
        (policy("calls", tracking("SageMakerInferenceComponentInvocationsPerCopy")),
         "InvocationsPerCopy cannot be used for sagemaker:variant:DesiredInstanceCount"),
        (policy("calls", {"TargetValue": 1.0, "CustomizedMetricSpecification": {}}),
         "CustomizedMetricSpecification needs Metrics, or MetricName"),
        (policy("calls", {"TargetValue": 1.0, "CustomizedMetricSpecification": AVERAGE}),
         r"computes one expression .*, not AVG\(METRICS\(\)\)"),
    ],
)  # fmt: skip
def test_invalid_policy_is_refused(
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


def test_second_put_keeps_omitted_members_of_an_action(
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
        ({"Schedule": "every morning"}, "Invalid schedule: 'every morning': expected at"),
        ({"ScalableTargetAction": {}}, "Specify a minimum or maximum capacity"),
        ({"Timezone": "Mars"}, "Invalid schedule: 'Mars' is not a time zone"),
        ({"ScalableTargetAction": {"MinCapacity": 3, "MaxCapacity": 2}},
         "Minimum capacity cannot be greater"),
    ],
)  # fmt: skip
def test_invalid_scheduled_action_is_refused(
    scaling: AutoScaling, change: dict[str, Any], message: str
) -> None:
    scaling.register(TARGET)
    with pytest.raises(ApiError, match=message):
        scaling.put_action({**ACTION, **change})
    assert actions(scaling) == []


def test_scheduled_actions_are_deleted(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    scaling.put_action(ACTION)
    scaling.put_action({**ACTION, "ScheduledActionName": "evening"})
    scaling.delete_action({**KEY, "ScheduledActionName": "morning"})
    assert [action["ScheduledActionName"] for action in actions(scaling)] == ["evening"]
    scaling.deregister(KEY)
    assert actions(scaling) == []


def test_pages_of_policies(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    names = [f"policy-{number}" for number in range(11)]
    for name in names:
        scaling.put_policy(policy(name, custom(name)))
    first = scaling.describe_policies({})
    second = scaling.describe_policies({"NextToken": first["NextToken"]})
    listed = [
        record["PolicyName"] for page in (first, second) for record in page["ScalingPolicies"]
    ]
    assert len(first["ScalingPolicies"]) == 10
    assert sorted(listed) == sorted(names)


def test_tags_of_a_target(scaling: AutoScaling) -> None:
    arn = scaling.register({**TARGET, "Tags": {"team": "shop"}})["ScalableTargetARN"]
    with pytest.raises(ApiError, match="use TagResource"):
        scaling.register({**TARGET, "Tags": {"team": "other"}})
    scaling.tag({"ResourceARN": arn, "Tags": {"stage": "test"}})
    scaling.untag({"ResourceARN": arn, "TagKeys": ["team", "absent"]})
    assert scaling.list_tags({"ResourceARN": arn}) == {"Tags": {"stage": "test"}}
    with pytest.raises(ApiError) as refused:
        scaling.list_tags({"ResourceARN": arn + "x"})
    assert refused.value.code == "ResourceNotFoundException"
