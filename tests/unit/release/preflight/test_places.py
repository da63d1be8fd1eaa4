"""What a region, its zones and its names have."""

from typing import Any

import pytest

from release.preflight import names, offerings
from release.preflight.instance_quotas import quota_name
from release.preflight.rows import Verdict
from tests.unit.release.preflight.conftest import (
    Aws,
    MakeAccount,
    denied,
    endpoint_stack,
    not_deployed,
    quotas,
    resources,
    runs,
)

OK, REFUSED, UNKNOWN = Verdict.OK, Verdict.REFUSED, Verdict.UNKNOWN
G5 = quota_name("ml.g5.xlarge")


def offer(aws: Aws, zones: list[str], *, quota: bool = True) -> None:
    def answer(request: dict[str, Any]) -> dict[str, Any]:
        assert request["Filters"] == [{"Name": "instance-type", "Values": ["g5.xlarge"]}]
        places = zones if request["LocationType"] == "availability-zone" else zones and ["here"]
        return {"InstanceTypeOfferings": [{"Location": it} for it in places]}

    aws.answers["ec2.DescribeInstanceTypeOfferings"] = answer
    aws.answers["service-quotas.ListServiceQuotas"] = quotas(**({G5: 1} if quota else {"x": 1}))
    aws.answers["service-quotas.ListAWSDefaultServiceQuotas"] = quotas()
    aws.answers["cloudformation.ListStackResources"] = not_deployed()
    runs(aws)


@pytest.mark.parametrize(
    ("zones", "quota", "verdict"),
    [
        (["a"], True, OK),
        ([], True, OK),
        (["a"], False, UNKNOWN),
        ([], False, REFUSED),
    ],
)
def test_a_type_is_refused_where_neither_service_has_it(
    make: MakeAccount, aws: Aws, zones: list[str], quota: bool, verdict: Verdict
) -> None:
    offer(aws, zones, quota=quota)
    (row,) = offerings.ask(make(prod_text=endpoint_stack()))
    assert row.verdict is verdict


def test_one_service_that_may_not_be_asked_leaves_the_other(make: MakeAccount, aws: Aws) -> None:
    offer(aws, ["a"])
    aws.answers["ec2.DescribeInstanceTypeOfferings"] = denied("ec2:DescribeInstanceTypeOfferings")
    (row,) = offerings.ask(make(prod_text=endpoint_stack()))
    assert row.verdict is OK
    assert "not allowed to ask (ec2:DescribeInstanceTypeOfferings)" in row.said
    offer(aws, ["a"])
    aws.answers["service-quotas.ListServiceQuotas"] = denied("servicequotas:ListServiceQuotas")
    (row,) = offerings.ask(make(prod_text=endpoint_stack()))
    assert row.verdict is OK


NETWORK = {
    f"Subnet{number}": ("AWS::EC2::Subnet", {"AvailabilityZone": {"Fn::Select": [number]}})
    for number in (0, 1)
}


def subnets(*zones: str) -> dict[str, Any]:
    return {"Subnets": [{"AvailabilityZone": it} for it in zones]}


@pytest.mark.parametrize(
    ("having", "verdict", "said"),
    [
        (["a", "b"], OK, "EC2 offers it in a, b"),
        (["b", "c"], OK, "all instances may be in one zone"),
        (["c"], REFUSED, "EC2 offers it in c"),
    ],
)
def test_the_zones_of_a_deployed_network_are_asked(
    make: MakeAccount, aws: Aws, having: list[str], verdict: Verdict, said: str
) -> None:
    offer(aws, having)
    aws.answers["cloudformation.ListStackResources"] = lambda request: (
        resources(Subnet0="subnet-0", Subnet1="subnet-1")
        if request["StackName"] == "prod-network"
        else {"StackResourceSummaries": []}
    )
    aws.answers["ec2.DescribeSubnets"] = subnets("a", "b")
    _, zones = offerings.ask(make(prod_network=NETWORK, prod_text=endpoint_stack()))
    assert zones.verdict is verdict
    assert said in zones.said
    (request,) = aws.requests("ec2.DescribeSubnets")
    assert request["SubnetIds"] == ["subnet-0", "subnet-1"]


def test_a_network_to_come_is_in_the_first_zones_with_a_default_subnet(
    make: MakeAccount, aws: Aws
) -> None:
    offer(aws, ["a", "b", "c"])
    aws.answers["ec2.DescribeSubnets"] = subnets("c", "b")
    _, zones = offerings.ask(make(prod_network=NETWORK, prod_text=endpoint_stack()))
    assert zones.said == "the network will probably be in: EC2 offers it in b, c"
    aws.answers["ec2.DescribeSubnets"] = subnets()
    aws.answers["ec2.DescribeAvailabilityZones"] = {
        "AvailabilityZones": [{"ZoneName": it} for it in ("a", "b", "c")]
    }
    _, zones = offerings.ask(make(prod_network=NETWORK, prod_text=endpoint_stack()))
    assert "EC2 offers it in a, b" in zones.said


def test_zones_that_are_only_probable_refuse_nothing(make: MakeAccount, aws: Aws) -> None:
    offer(aws, ["c"])
    aws.answers["ec2.DescribeSubnets"] = subnets("a", "b", "c")
    _, zones = offerings.ask(make(prod_network=NETWORK, prod_text=endpoint_stack()))
    assert zones.verdict is UNKNOWN
    assert zones.said == "the network will probably be in a, b, and EC2 offers it in c"


def test_the_zones_of_a_type_that_ec2_does_not_list_are_not_asked(
    make: MakeAccount, aws: Aws
) -> None:
    offer(aws, [])
    network = {"Subnet": ("AWS::EC2::Subnet", {"AvailabilityZone": "a"})}
    (row,) = offerings.ask(make(prod_network=network, prod_text=endpoint_stack()))
    assert row.verdict is OK


def test_a_new_subnet_of_a_deployed_network_is_one_to_come(make: MakeAccount, aws: Aws) -> None:
    offer(aws, ["a", "b"])
    aws.answers["cloudformation.ListStackResources"] = lambda request: (
        resources(Subneta="subnet-a")
        if request["StackName"] == "prod-network"
        else {"StackResourceSummaries": []}
    )
    network = {
        f"Subnet{zone}": ("AWS::EC2::Subnet", {"AvailabilityZone": zone}) for zone in ("a", "b")
    }
    _, zones = offerings.ask(make(prod_network=network, prod_text=endpoint_stack()))
    assert zones.said == "the network will be in: EC2 offers it in a, b"


def test_zones_that_the_stage_names_are_taken(make: MakeAccount, aws: Aws) -> None:
    offer(aws, ["a", "c"])
    network = {
        f"Subnet{zone}": ("AWS::EC2::Subnet", {"AvailabilityZone": zone}) for zone in ("a", "b")
    }
    _, zones = offerings.ask(make(prod_network=network, prod_text=endpoint_stack()))
    assert zones.said.startswith("the network will be in: EC2 offers it in a and not in b")


GROUP = {"Log": ("AWS::Logs::LogGroup", {"LogGroupName": "/aws/prod-text"})}
ARN = "arn:aws:logs:us-east-1:111122223333:log-group:/aws/prod-text"


def has_group(aws: Aws, tags: dict[str, str]) -> None:
    aws.answers["cloudformation.ListStackResources"] = not_deployed()
    aws.answers["logs.DescribeLogGroups"] = {
        "logGroups": [
            {"logGroupName": "/aws/prod-text", "arn": f"{ARN}:*"},
            {"logGroupName": "/aws/prod-text-2", "arn": f"{ARN}-2:*"},
        ]
    }
    aws.answers["logs.ListTagsForResource"] = {"tags": tags}


@pytest.mark.parametrize(
    ("owner", "verdict", "said"),
    [
        ("", REFUSED, "made by no stack"),
        ("prod-models", REFUSED, "left behind by prod-models"),
        ("dev-models", REFUSED, "belongs to the stack dev-models"),
        ("prod-text", UNKNOWN, "belongs to prod-text now, and to prod-models"),
    ],
)
def test_a_name_that_is_taken_says_whose_it_is(
    make: MakeAccount, aws: Aws, owner: str, verdict: Verdict, said: str
) -> None:
    has_group(aws, {names.OWNER: owner} if owner else {})
    (row,) = names.ask(make(prod_models=GROUP, prod_text={}))
    assert row.verdict is verdict
    assert said in row.said
    (request,) = aws.requests("logs.ListTagsForResource")
    assert request["resourceArn"] == ARN
    if "stack dev" not in said and verdict is REFUSED:
        assert "aws logs delete-log-group --log-group-name /aws/prod-text" in row.do
        assert "cdk import prod-models" in row.do


def test_the_stage_s_own_names_are_its_own(make: MakeAccount, aws: Aws) -> None:
    has_group(aws, {})
    aws.answers["cloudformation.ListStackResources"] = resources(Log="/aws/prod-text")
    assert list(names.ask(make(prod_models=GROUP))) == []


def test_free_names_of_every_kind_are_counted(make: MakeAccount, aws: Aws) -> None:
    runs(aws)
    aws.answers["cloudformation.ListStackResources"] = not_deployed()
    aws.answers["logs.DescribeLogGroups"] = {"logGroups": []}
    aws.answers["ssm.DescribeParameters"] = {"Parameters": []}
    account = make(
        prod_models={
            **GROUP,
            "Topic": ("AWS::SNS::Topic", {"TopicName": "prod-alarms"}),
            "Named": ("AWS::Logs::LogGroup", {}),
        },
        prod_text={**endpoint_stack(), "P": ("AWS::SSM::Parameter", {"Name": "/triton/p"})},
    )
    sns = account.client("sns")
    aws.answers["sns.GetTopicAttributes"] = sns.exceptions.NotFoundException({}, "Get")
    (row,) = names.ask(account)
    assert row.said == "4 new names are free"


def test_a_parameter_on_a_later_page_is_taken(make: MakeAccount, aws: Aws) -> None:
    aws.answers["cloudformation.ListStackResources"] = not_deployed()
    aws.answers["ssm.DescribeParameters"] = lambda request: (
        {"Parameters": [{"Name": "/triton/p"}]}
        if "NextToken" in request
        else {"Parameters": [], "NextToken": "more"}
    )
    aws.answers["ssm.ListTagsForResource"] = {"TagList": []}
    (row,) = names.ask(make(prod_text={"P": ("AWS::SSM::Parameter", {"Name": "/triton/p"})}))
    assert (row.subject, row.verdict) == ("parameter /triton/p", REFUSED)


def test_an_endpoint_of_somebody_is_refused(make: MakeAccount, aws: Aws) -> None:
    runs(aws, prod_text=("ml.g5.xlarge", 1))
    aws.answers["cloudformation.ListStackResources"] = not_deployed()
    aws.answers["sagemaker.ListTags"] = {"Tags": []}
    aws.answers["sagemaker.ListEndpoints"] = denied("sagemaker:ListEndpoints")
    (row,) = names.ask(make(prod_text=endpoint_stack()))
    assert (row.subject, row.verdict) == ("endpoint prod-text", REFUSED)
    assert row.do == "aws sagemaker delete-endpoint --endpoint-name prod-text"


def test_buckets_that_an_earlier_destroy_left_are_said(make: MakeAccount, aws: Aws) -> None:
    aws.answers["cloudformation.ListStackResources"] = resources(
        ModelsBucket970="prod-models-modelsbucket970-new"
    )
    aws.answers["s3.ListBuckets"] = {
        "Buckets": [
            {"Name": "prod-models-modelsbucket970-new"},
            {"Name": "prod-models-modelsbucket970-old"},
            {"Name": "dev-models-modelsbucket970-old"},
        ]
    }
    (row,) = names.ask(make(prod_models={"ModelsBucket970": ("AWS::S3::Bucket", {})}))
    assert (row.subject, row.verdict) == ("bucket prod-models-modelsbucket970-old", OK)
    assert row.do == "aws s3 rb s3://prod-models-modelsbucket970-old --force"
