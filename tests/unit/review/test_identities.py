"""Created and deleted resources that are one object in AWS."""

import copy
from typing import Any

import pytest

from review.comparison import Comparison
from review.dangers import dangers
from tests.unit.review.edits import PROD

NAME = {"Fn::GetAtt": ["Endpoint", "EndpointName"]}
TARGET = {
    "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
    "Properties": {
        "ResourceId": {"Fn::Join": ["", ["endpoint/", NAME, "/variant/AllTraffic"]]},
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
        "ServiceNamespace": "sagemaker",
        "MinCapacity": 2,
    },
}
PARAMETER = {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/triton/topic", "Value": "a"}}
FUNCTION = {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": "builder"}}
BUCKET = {"Type": "AWS::S3::Bucket", "Properties": {}}
BUCKET_POLICY = {
    "Type": "AWS::S3::BucketPolicy",
    "Properties": {"Bucket": {"Ref": "Bucket"}, "PolicyDocument": {"Statement": []}},
}
ALARM = {"Type": "AWS::CloudWatch::Alarm", "Properties": {"Threshold": 1}}
ROLE = {"Type": "AWS::IAM::Role", "Properties": {}}


def policy(role: str) -> dict[str, Any]:
    properties = {
        "PolicyName": "access",
        "Roles": [{"Ref": role}],
        "PolicyDocument": {"Statement": []},
    }
    return {"Type": "AWS::IAM::Policy", "Properties": properties}


def scaling_policy(target: str) -> dict[str, Any]:
    properties = {"PolicyName": "rps", "ScalingTargetId": {"Ref": target}}
    return {"Type": "AWS::ApplicationAutoScaling::ScalingPolicy", "Properties": properties}


RESOURCES = {
    "Endpoint": {"Type": "AWS::SageMaker::Endpoint", "Properties": {"EndpointName": "prod-text"}},
    "Bucket": BUCKET,
    "RoleA": ROLE,
    "RoleB": ROLE,
}  # fmt: skip


def shared(old: dict[str, Any], new: dict[str, Any], *, other_stack: bool = False) -> list[str]:
    """Return the messages for a stack with `new` in place of `old`, or in the other stack."""
    before: dict[str, Any] = {
        "prod-text": {"Resources": {**RESOURCES, **old}},
        "prod-models": {"Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {}}}},
    }
    after = copy.deepcopy(before)
    after["prod-text"]["Resources"] = {**RESOURCES, **({} if other_stack else new)}
    if other_stack:
        after["prod-models"]["Resources"] |= new
    comparison = Comparison("prod", before, after, PROD, PROD)
    return [danger.message for danger in dangers(comparison) if danger.rule == "shared_identities"]


def test_scalable_target_under_another_logical_id() -> None:
    (message,) = shared({"OldTarget": TARGET}, {"NewTarget": TARGET})
    assert (
        "prod-text/OldTarget and the new prod-text/NewTarget are one object in AWS (ResourceId"
        in message
    )
    assert "ResourceId endpoint/prod-text/variant/AllTraffic" in message
    assert "deregisters it and deletes its scaling policies" in message


@pytest.mark.parametrize("resource", [PARAMETER, FUNCTION, BUCKET_POLICY, policy("RoleA")])
def test_named_resource_under_another_logical_id(resource: dict[str, Any]) -> None:
    (message,) = shared({"Old": resource}, {"New": resource})
    assert message.startswith(
        f"{resource['Type']} prod-text/Old and the new prod-text/New are one object"
    )


def test_policies_of_one_target_under_two_logical_ids() -> None:
    old = {"A": TARGET, "PolicyA": scaling_policy("A")}
    new = {"B": TARGET, "PolicyB": scaling_policy("B")}
    assert len(shared(old, new)) == 2


def test_renamed_policy_of_the_same_metric() -> None:
    def tracked(name: str, metric: str = "SageMakerVariantInvocationsPerInstance") -> Any:
        tracking = {"PredefinedMetricSpecification": {"PredefinedMetricType": metric}}
        policy = scaling_policy("Target")
        policy["Properties"] |= {
            "PolicyName": name,
            "TargetTrackingScalingPolicyConfiguration": tracking,
        }
        return policy

    old = {"Target": TARGET, "Old": tracked("rps")}
    (message,) = shared(old, {"Target": TARGET, "New": tracked("calls")})
    assert "a target has one target-tracking policy for a metric" in message
    assert shared(old, {"Target": TARGET, "New": tracked("gpu", "Other")}) == []


TOPIC_POLICY = {
    "Type": "AWS::SNS::TopicPolicy",
    "Properties": {
        "Topics": [{"Ref": "RoleA"}, {"Ref": "Bucket"}],
        "PolicyDocument": {"Statement": []},
    },
}


@pytest.mark.parametrize("resource", [BUCKET_POLICY, TOPIC_POLICY])
def test_second_policy_beside_an_unchanged_one(resource: dict[str, Any]) -> None:
    second = copy.deepcopy(resource)
    if "Topics" in second["Properties"]:
        del second["Properties"]["Topics"][0]
    (message,) = shared({"Policy": resource}, {"Policy": resource, "Second": second})
    assert "prod-text/Policy and the new prod-text/Second are one object in AWS" in message
    assert "each replaces what the other has set" in message


IMPORT = {"Fn::ImportValue": "prod-text:ExportsOutputRefRoleA"}


@pytest.mark.parametrize(
    ("resource", "importing", "effect"),
    [
        (PARAMETER, {}, "if prod-text is updated first, prod-text deletes it with what it"),
        (PARAMETER, {"R": {**ROLE, "Properties": {"Path": IMPORT}}},
         "prod-text is updated first, as prod-models imports its exports: prod-text deletes it"),
        ({**PARAMETER, "DeletionPolicy": "Retain"}, {}, "prod-text keeps it (DeletionPolicy), so"),
    ],
)  # fmt: skip
def test_parameter_moves_to_another_stack(
    resource: dict[str, Any], importing: dict[str, Any], effect: str
) -> None:
    (message,) = shared({"Old": resource}, {"New": resource, **importing}, other_stack=True)
    assert "prod-models/New" in message
    assert f": {effect}" in message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (ALARM, ALARM),  # CloudFormation names both
        (policy("RoleA"), policy("RoleB")),
        (PARAMETER, {**PARAMETER, "Properties": {"Name": "/triton/other"}}),
        (BUCKET, BUCKET),
    ],
)
def test_other_objects(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert shared({"Old": old}, {"New": new}) == []


SUBNET = {
    "Type": "AWS::EC2::Subnet",
    "Properties": {"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.1.0.0/24", "AvailabilityZone": "a"},
}
ASSOCIATION = {
    "Type": "AWS::EC2::SubnetRouteTableAssociation",
    "Properties": {"SubnetId": {"Ref": "OldSubnet"}, "RouteTableId": "rtb-1"},
}
RULE = {
    "Type": "AWS::ElasticLoadBalancingV2::ListenerRule",
    "Properties": {"ListenerArn": "arn:listener", "Priority": 10},
}
SUBSCRIPTION = {
    "Type": "AWS::SNS::Subscription",
    "Properties": {"TopicArn": {"Ref": "Topic"}, "Protocol": "email", "Endpoint": "a@example.org"},
}


def with_properties(resource: dict[str, Any], **properties: Any) -> dict[str, Any]:
    return {**resource, "Properties": {**resource["Properties"], **properties}}


def test_subnet_with_the_addresses_of_the_old_one() -> None:
    old = {"OldSubnet": SUBNET, "OldTable": ASSOCIATION}
    new = {"NewSubnet": SUBNET,
           "NewTable": with_properties(ASSOCIATION, SubnetId={"Ref": "NewSubnet"})}  # fmt: skip
    (message,) = shared(old, new)
    assert "prod-text/OldSubnet and the new prod-text/NewSubnet cannot coexist" in message
    assert "CidrBlock 10.1.0.0/24): CloudFormation creates before it deletes" in message
    other = with_properties(SUBNET, CidrBlock="10.1.1.0/24")
    assert shared({"OldSubnet": SUBNET}, {"NewSubnet": other}) == []


@pytest.mark.parametrize(
    ("resource", "effect"),
    [(RULE, "AWS refuses the second one"), (SUBSCRIPTION, "then removes it: nobody is notified")],
)
def test_combination_that_exists_once(resource: dict[str, Any], effect: str) -> None:
    (message,) = shared({"Old": resource}, {"New": resource})
    assert effect in message


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        (
            with_properties(FUNCTION, PackageType="Zip"),
            with_properties(FUNCTION, PackageType="Image"),
            1,
        ),
        (SUBNET, with_properties(SUBNET, AvailabilityZone="b"), 1),
        (SUBNET, with_properties(SUBNET, AvailabilityZone="b", CidrBlock="10.1.1.0/24"), 0),
        (PARAMETER, with_properties(PARAMETER, Name="/triton/other"), 0),
    ],
)
def test_replacement_with_the_same_name(
    old: dict[str, Any], new: dict[str, Any], count: int
) -> None:
    messages = shared({"Same": old}, {"Same": new})
    assert ["is replaced by one with the same" in message for message in messages] == [True] * count


def test_name_of_a_retained_resource() -> None:
    log = {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/calls"}}
    before = {"prod-text": {"Resources": {**RESOURCES, "Log": {**log, "DeletionPolicy": "Retain"}}}}
    after = {"prod-text": {"Resources": RESOURCES}}
    (danger,) = dangers(Comparison("prod", before, after, PROD, PROD))
    assert danger.message.endswith(
        "not deleted: its LogGroupName /calls stays taken, so that the next creation fails"
    )
