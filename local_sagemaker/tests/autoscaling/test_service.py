import re
from typing import Any

import pytest

from local_sagemaker.autoscaling.service import AutoScaling
from local_sagemaker.errors import ApiError
from local_sagemaker.tests.autoscaling.conftest import (
    CONFIGURATION,
    KEY,
    POLICY,
    TARGET,
    CloudWatch,
    Time,
    Variants,
    custom,
    policy,
)
from local_sagemaker.tests.conftest import ClientFor

ARN = "arn:aws:application-autoscaling:us-east-1:000000000000"
NOT_REGISTERED = (
    "No scalable target registered for service namespace: sagemaker, resource ID: "
    "endpoint/text/variant/only, scalable dimension: sagemaker:variant:DesiredInstanceCount"
)
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
    found: list[dict[str, Any]] = scaling.describe_targets({})["ScalableTargets"]
    return found


def policies(scaling: AutoScaling) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = scaling.describe_policies({})["ScalingPolicies"]
    return found


# Targets


def test_a_variant_is_registered_with_its_limits(scaling: AutoScaling) -> None:
    arn = scaling.register(TARGET)["ScalableTargetARN"]
    assert re.fullmatch(rf"{ARN}:scalable-target/\w+", arn)
    (target,) = targets(scaling)
    assert {name: target[name] for name in TARGET} == TARGET
    assert target["ScalableTargetARN"] == arn


def test_registering_again_changes_the_limits_and_keeps_the_target(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    (before,) = [dict(it) for it in targets(scaling)]
    assert scaling.register({**KEY, "MaxCapacity": 9}) == {
        "ScalableTargetARN": before["ScalableTargetARN"]
    }
    assert targets(scaling) == [{**before, "MaxCapacity": 9}]


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


def test_of_a_suspension_the_members_that_are_not_named_stay(scaling: AutoScaling) -> None:
    scaling.register({**TARGET, "SuspendedState": {"DynamicScalingInSuspended": True}})
    scaling.register({**KEY, "SuspendedState": {"ScheduledScalingSuspended": True}})
    (target,) = targets(scaling)
    assert target["SuspendedState"] == {
        "DynamicScalingInSuspended": True,
        "DynamicScalingOutSuspended": False,
        "ScheduledScalingSuspended": True,
    }


def test_a_change_of_limits_that_is_refused_changes_nothing(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    with pytest.raises(ApiError, match="Minimum capacity"):
        scaling.register({**KEY, "MinCapacity": 7})
    assert [it["MinCapacity"] for it in targets(scaling)] == [2]


def test_the_registered_variants_of_an_endpoint_are_known(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    assert (scaling.variants("text"), scaling.variants("tex")) == ({"only"}, set())
    scaling.deregister(KEY)
    assert scaling.variants("text") == set()


def test_deregistering_a_target_deletes_its_policies(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    scaling.put_policy(POLICY)
    assert scaling.deregister(KEY) == {}
    assert (targets(scaling), policies(scaling)) == ([], [])


def test_an_endpoint_that_is_deleted_is_forgotten_with_its_policies(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    scaling.put_policy(POLICY)
    scaling.forget("tex")
    assert (len(targets(scaling)), len(policies(scaling))) == (1, 1)
    scaling.forget("text")
    assert (targets(scaling), policies(scaling)) == ([], [])


def test_targets_are_filtered_by_namespace_and_dimension(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    scaling.register(
        {**TARGET, "ScalableDimension": "sagemaker:variant:DesiredProvisionedConcurrency"}
    )
    found = scaling.describe_targets(
        {name: KEY[name] for name in ("ServiceNamespace", "ScalableDimension")}
    )
    assert [it["ScalableDimension"] for it in found["ScalableTargets"]] == [
        "sagemaker:variant:DesiredInstanceCount"
    ]
    assert len(targets(scaling)) == 2


# Policies


def test_a_policy_is_kept_as_it_was_put(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    answer = scaling.put_policy(POLICY)
    assert re.fullmatch(POLICY_ARN, answer["PolicyARN"])
    (policy,) = policies(scaling)
    assert {name: policy[name] for name in POLICY} == POLICY


def test_putting_a_policy_again_changes_it_and_keeps_its_arn(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    first = scaling.put_policy(POLICY)
    new = {**CONFIGURATION, "TargetValue": 80.0}
    assert scaling.put_policy(policy("calls", new)) == first
    (found,) = policies(scaling)
    assert found["TargetTrackingScalingPolicyConfiguration"] == new


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


@pytest.mark.parametrize(("size", "number"), [({}, 10), ({"MaxResults": 4}, 4)])
def test_policies_are_described_a_page_at_a_time(
    scaling: AutoScaling, size: dict[str, int], number: int
) -> None:
    scaling.register(TARGET)
    for each in range(11):
        scaling.put_policy(policy(f"p{each:02}", custom(f"m{each}")))
    answer = scaling.describe_policies(size)
    found = [it["PolicyName"] for it in answer["ScalingPolicies"]]
    assert found == [f"p{each:02}" for each in range(number)]
    while "NextToken" in answer:
        answer = scaling.describe_policies({**size, "NextToken": answer["NextToken"]})
        found += [it["PolicyName"] for it in answer["ScalingPolicies"]]
    assert found == [f"p{each:02}" for each in range(11)]


@pytest.mark.parametrize("most", [-1, 0, 51])
def test_a_page_has_at_most_what_the_api_says(scaling: AutoScaling, most: int) -> None:
    with pytest.raises(ApiError, match="MaxResults must be between 1 and 50"):
        scaling.describe_targets({"MaxResults": most})


def test_a_token_that_is_none_is_refused_by_its_own_code(scaling: AutoScaling) -> None:
    with pytest.raises(ApiError) as refused:
        scaling.describe_targets({"NextToken": "x"})
    assert refused.value.code == "InvalidNextTokenException"


def test_a_deleted_policy_leaves_its_target(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    scaling.put_policy(POLICY)
    scaling.put_policy(policy("other", custom("m")))
    scaling.delete_policy({**KEY, "PolicyName": "calls"})
    assert [it["PolicyName"] for it in policies(scaling)] == ["other"]
    assert len(targets(scaling)) == 1


def test_policies_are_filtered_by_their_variant(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    scaling.put_policy(POLICY)
    other = {"ServiceNamespace": "sagemaker", "ResourceId": "endpoint/text/variant/other"}
    assert scaling.describe_policies(other)["ScalingPolicies"] == []
    assert len(scaling.describe_policies(KEY)["ScalingPolicies"]) == 1


def test_policies_are_filtered_by_their_names(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    for name in ("gpu", "invocations", "other"):
        scaling.put_policy(policy(name, custom(name)))
    found = scaling.describe_policies({"PolicyNames": ["gpu", "other", "none"]})
    assert [it["PolicyName"] for it in found["ScalingPolicies"]] == ["gpu", "other"]
    assert len(scaling.describe_policies({"PolicyNames": []})["ScalingPolicies"]) == 3


@pytest.mark.parametrize(("resource", "count"), [(KEY["ResourceId"], 1), ("endpoint/x", 0)])
def test_targets_are_filtered_by_their_resources(
    scaling: AutoScaling, resource: str, count: int
) -> None:
    scaling.register(TARGET)
    request = {"ServiceNamespace": "sagemaker", "ResourceIds": [resource]}
    assert len(scaling.describe_targets(request)["ScalableTargets"]) == count


def test_an_sdk_reads_targets_and_policies(scaling: AutoScaling, client_for: ClientFor) -> None:
    client = client_for("application-autoscaling", scaling.service)
    client.register_scalable_target(**TARGET)
    client.put_scaling_policy(**POLICY)
    (target,) = client.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (2, 6)
    (policy,) = client.describe_scaling_policies(ServiceNamespace="sagemaker")["ScalingPolicies"]
    assert policy["CreationTime"] >= target["CreationTime"]
    with pytest.raises(client.exceptions.ObjectNotFoundException):
        client.delete_scaling_policy(**KEY, PolicyName="none")


def test_the_alarms_of_a_policy_come_and_go_with_it(
    scaling: AutoScaling, cloudwatch: CloudWatch
) -> None:
    scaling.register(TARGET)
    first = scaling.put_policy(POLICY)
    assert [it["AlarmName"] for it in first["Alarms"]] == list(cloudwatch.alarms)
    again = scaling.put_policy(policy("calls", {**CONFIGURATION, "TargetValue": 80.0}))
    assert again == first
    assert [it["Threshold"] for it in cloudwatch.alarms.values()] == [80, 72]
    (only_high,) = scaling.put_policy(policy("calls", {**CONFIGURATION, "DisableScaleIn": True}))[
        "Alarms"
    ]
    assert [only_high["AlarmName"]] == list(cloudwatch.alarms)
    scaling.delete_policy({**KEY, "PolicyName": "calls"})
    assert cloudwatch.alarms == {}


@pytest.mark.parametrize("end", ["deregister", "forget"])
def test_the_alarms_go_with_the_target(
    scaling: AutoScaling, cloudwatch: CloudWatch, end: str
) -> None:
    scaling.register(TARGET)
    scaling.put_policy(POLICY)
    scaling.forget("text") if end == "forget" else scaling.deregister(KEY)
    assert cloudwatch.alarms == {}


def test_two_policies_of_a_target_have_different_metrics(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    scaling.put_policy(POLICY)
    with pytest.raises(ApiError, match="Only one TargetTrackingScaling policy for a given metric"):
        scaling.put_policy(policy("again", {**CONFIGURATION, "TargetValue": 1.0}))
    assert [it["PolicyName"] for it in policies(scaling)] == ["calls"]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({**POLICY, "PolicyType": "StepScaling"}, "the local SageMaker has no StepScaling"),
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
            "DynamoDBReadCapacityUtilization is not of a SageMaker variant's instances",
        ),
        (
            policy("calls", {"TargetValue": 1.0, "CustomizedMetricSpecification": {"Metrics": []}}),
            "the local SageMaker has no metric math",
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
    found: list[dict[str, Any]] = scaling.describe_actions({})["ScheduledActions"]
    return found


def test_a_scheduled_action_is_kept_as_it_was_put(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    scaling.put_action({**ACTION, "StartTime": "2027-01-01T00:00:00Z"})
    (found,) = actions(scaling)
    assert {name: found[name] for name in ACTION} == ACTION
    assert found["StartTime"] == 1798761600
    assert found["ScheduledActionARN"].endswith(
        ":resource/sagemaker/endpoint/text/variant/only:scheduledActionName/morning"
    )


def test_of_an_action_that_is_put_again_times_that_are_not_named_are_deleted(
    scaling: AutoScaling,
) -> None:
    scaling.register(TARGET)
    scaling.put_action({**ACTION, "EndTime": 1_900_000_000})
    scaling.put_action({**KEY, "ScheduledActionName": "morning", "Schedule": "rate(1 hour)"})
    (found,) = actions(scaling)
    assert "EndTime" not in found
    assert (found["Schedule"], found["ScalableTargetAction"]) == (
        "rate(1 hour)",
        {"MinCapacity": 4},
    )


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


@pytest.mark.parametrize("missing", ["Schedule", "ScalableTargetAction"])
def test_a_new_scheduled_action_says_when_and_what(scaling: AutoScaling, missing: str) -> None:
    scaling.register(TARGET)
    with pytest.raises(ApiError, match=f"A new scheduled action needs {missing}"):
        scaling.put_action({name: it for name, it in ACTION.items() if name != missing})


def test_a_scheduled_action_is_deleted_alone_or_with_its_target(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    scaling.put_action(ACTION)
    scaling.put_action({**ACTION, "ScheduledActionName": "evening"})
    scaling.delete_action({**KEY, "ScheduledActionName": "morning"})
    assert [it["ScheduledActionName"] for it in actions(scaling)] == ["evening"]
    scaling.deregister(KEY)
    assert actions(scaling) == []


def test_an_sdk_reads_scheduled_actions_and_activities(
    scaling: AutoScaling, variants: Variants, client_for: ClientFor, time: Time
) -> None:
    client = client_for("application-autoscaling", scaling.service)
    client.register_scalable_target(**TARGET)
    client.put_scheduled_action(**ACTION, StartTime=time.now + 60)
    (action,) = client.describe_scheduled_actions(
        ServiceNamespace="sagemaker", ScheduledActionNames=["morning"]
    )["ScheduledActions"]
    assert action["StartTime"].timestamp() == time.now + 60
    client.register_scalable_target(**{**TARGET, "MinCapacity": 3})
    (activity,) = client.describe_scaling_activities(ServiceNamespace="sagemaker")[
        "ScalingActivities"
    ]
    assert (activity["StatusCode"], activity["StartTime"].timestamp()) == ("InProgress", time.now)
    assert variants.asked == [3]
