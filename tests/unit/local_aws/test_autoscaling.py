import re
from types import SimpleNamespace
from typing import Any

import pytest

from local_aws.autoscaling.cloudformation import ScalableTarget, ScalingPolicy, resource_types
from local_aws.autoscaling.service import AutoScaling
from local_aws.errors import ApiError
from tests.unit.local_aws.conftest import ClientFor

ARN = "arn:aws:application-autoscaling:us-east-1:000000000000"
KEY = {
    "ServiceNamespace": "sagemaker",
    "ResourceId": "endpoint/text/variant/only",
    "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
}
PHYSICAL_ID = "endpoint/text/variant/only|sagemaker:variant:DesiredInstanceCount|sagemaker"
TARGET: dict[str, Any] = {**KEY, "MinCapacity": 2, "MaxCapacity": 6}
POLICY: dict[str, Any] = {
    **KEY,
    "PolicyName": "gpu",
    "PolicyType": "TargetTrackingScaling",
    "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 60.0},
}


def describe_endpoint(request: dict[str, Any]) -> dict[str, Any]:
    """Know the endpoint `text` alone, as `Hosting` would."""
    if request["EndpointName"] != "text":
        raise ApiError(
            "ValidationException", f'Could not find endpoint "{request["EndpointName"]}".'
        )
    return {"ProductionVariants": [{"VariantName": "only"}]}


@pytest.fixture
def scaling() -> AutoScaling:
    return AutoScaling(SimpleNamespace(describe_endpoint=describe_endpoint))  # type: ignore[arg-type]


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
    assert re.fullmatch(rf"{ARN}:scaling-policy/[\w-]+:policyName/gpu", answer["PolicyARN"])
    assert answer["Alarms"] == []
    (policy,) = policies(scaling)
    assert {name: policy[name] for name in POLICY} == POLICY


def test_putting_a_policy_again_changes_it_and_keeps_its_arn(scaling: AutoScaling) -> None:
    scaling.register(TARGET)
    first = scaling.put_policy(POLICY)
    new = {"TargetTrackingScalingPolicyConfiguration": {"TargetValue": 80.0}}
    assert scaling.put_policy({**POLICY, **new}) == first
    (policy,) = policies(scaling)
    assert policy["TargetTrackingScalingPolicyConfiguration"] == {"TargetValue": 80.0}


def test_what_is_not_registered_has_no_policy(scaling: AutoScaling) -> None:
    for call, request, message in (
        (scaling.put_policy, POLICY, "No scalable target registered."),
        (scaling.deregister, KEY, "No scalable target found."),
        (scaling.delete_policy, {**KEY, "PolicyName": "gpu"}, "No scaling policy found."),
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
        scaling.put_policy({**POLICY, "PolicyName": f"p{each:02}"})
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
    scaling.put_policy({**POLICY, "PolicyName": "other"})
    scaling.delete_policy({**KEY, "PolicyName": "gpu"})
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
        scaling.put_policy({**POLICY, "PolicyName": name})
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


# CloudFormation


def test_the_types_have_cloudformations_names(scaling: AutoScaling) -> None:
    types = resource_types(scaling.service)
    assert {name: type(handler) for name, handler in types.items()} == {
        "AWS::ApplicationAutoScaling::ScalableTarget": ScalableTarget,
        "AWS::ApplicationAutoScaling::ScalingPolicy": ScalingPolicy,
    }


def test_a_target_is_known_by_resource_dimension_and_service(scaling: AutoScaling) -> None:
    properties = {**TARGET, "MinCapacity": "2", "MaxCapacity": "6"}
    handler = ScalableTarget(scaling.service)
    assert handler.create("Logical", properties, "stack") == (PHYSICAL_ID, {})
    assert targets(scaling)[0]["MinCapacity"] == 2


def test_an_updated_target_keeps_its_id(scaling: AutoScaling) -> None:
    handler = ScalableTarget(scaling.service)
    handler.create("Logical", TARGET, "stack")
    new = {**TARGET, "MaxCapacity": 9}
    assert handler.update(PHYSICAL_ID, TARGET, new, "stack") == (PHYSICAL_ID, {})
    assert [it["MaxCapacity"] for it in targets(scaling)] == [9]


@pytest.mark.parametrize("reference", [{"ScalingTargetId": PHYSICAL_ID}, KEY])
def test_a_policy_names_its_target_by_id_or_by_its_parts(
    scaling: AutoScaling, reference: dict[str, str]
) -> None:
    properties = {name: value for name, value in POLICY.items() if name not in KEY} | reference
    ScalableTarget(scaling.service).create("Target", TARGET, "stack")
    handler = ScalingPolicy(scaling.service)
    arn, attributes = handler.create("Policy", properties, "stack")
    assert attributes == {"Arn": arn}
    assert policies(scaling)[0]["ResourceId"] == "endpoint/text/variant/only"
    new = {**properties, "TargetTrackingScalingPolicyConfiguration": {"TargetValue": "80"}}
    assert handler.update(arn, properties, new, "stack") == (arn, {"Arn": arn})
    (policy,) = policies(scaling)
    assert policy["TargetTrackingScalingPolicyConfiguration"] == {"TargetValue": 80.0}
    handler.delete(arn, new)
    assert policies(scaling) == []


def test_target_and_policy_are_deleted_in_any_order_and_more_than_once(
    scaling: AutoScaling,
) -> None:
    target, policy = ScalableTarget(scaling.service), ScalingPolicy(scaling.service)
    target.create("Target", TARGET, "stack")
    arn, _ = policy.create("Policy", POLICY, "stack")
    for _ in range(2):
        target.delete(PHYSICAL_ID, TARGET)
        policy.delete(arn, POLICY)
    assert (targets(scaling), policies(scaling)) == ([], [])


def test_a_deletion_that_is_refused_for_another_reason_is_an_error(scaling: AutoScaling) -> None:
    with pytest.raises(ApiError, match="Missing required parameter"):
        ScalableTarget(scaling.service).delete("endpoint/text/variant/only", {})


# Schedules

NIGHT: dict[str, Any] = {
    **KEY,
    "ScheduledActionName": "night",
    "Schedule": "cron(0 20 ? * MON-FRI *)",
    "Timezone": "Europe/Berlin",
    "ScalableTargetAction": {"MinCapacity": 2, "MaxCapacity": 4},
}


def schedules(scaling: AutoScaling) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = scaling.describe_scheduled({})["ScheduledActions"]
    return found


def test_a_schedule_is_of_a_registered_target_and_goes_with_it(scaling: AutoScaling) -> None:
    with pytest.raises(ApiError, match="No scalable target"):
        scaling.put_scheduled(NIGHT)
    scaling.register(TARGET)
    scaling.put_scheduled(NIGHT)
    scaling.put_scheduled({**NIGHT, "Schedule": "rate(2 days)"})
    (kept,) = schedules(scaling)
    assert {name: kept[name] for name in NIGHT} == {**NIGHT, "Schedule": "rate(2 days)"}
    scaling.deregister(KEY)
    assert schedules(scaling) == []


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"Schedule": "every night"}, "Invalid schedule expression: every night"),
        ({"Schedule": "cron(0 20 * * *)"}, "Invalid schedule expression"),
        ({"ScalableTargetAction": {}}, "Specify a minimum or maximum capacity"),
        (
            {"ScalableTargetAction": {"MinCapacity": 3, "MaxCapacity": 2}},
            "Minimum capacity cannot be greater",
        ),
    ],
)
def test_a_schedule_that_aws_would_not_take_is_refused(
    changed: dict[str, Any], told: str, scaling: AutoScaling
) -> None:
    scaling.register(TARGET)
    with pytest.raises(ApiError, match=told):
        scaling.put_scheduled({**NIGHT, **changed})


def test_a_schedule_that_is_not_there_is_not_deleted(scaling: AutoScaling) -> None:
    with pytest.raises(ApiError, match="No scheduled action"):
        scaling.delete_scheduled({**KEY, "ScheduledActionName": "night"})


def test_a_template_s_schedules_are_those_of_its_target(scaling: AutoScaling) -> None:
    target = resource_types(scaling.service)["AWS::ApplicationAutoScaling::ScalableTarget"]
    night = {name: it for name, it in NIGHT.items() if name not in KEY}
    tagged = {**TARGET, "Tags": [{"Key": "team", "Value": "search"}]}
    before = {**tagged, "ScheduledActions": [night, {**night, "ScheduledActionName": "day"}]}
    physical_id, _ = target.create("Target", before, "stack")
    assert {it["ScheduledActionName"] for it in schedules(scaling)} == {"night", "day"}
    target.update(physical_id, before, {**tagged, "ScheduledActions": [night]}, "stack")
    assert [it["ScheduledActionName"] for it in schedules(scaling)] == ["night"]
