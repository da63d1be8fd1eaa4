"""What a region, its zones and its names have."""

from typing import Any

import pytest

from release.preflight import names, offerings
from release.preflight.findings import Verdict
from release.preflight.quotas import instances_quota
from tests.unit.release.preflight.conftest import (
    Aws,
    MakeAccount,
    endpoint_stack,
    not_deployed,
    quotas,
    resources,
    runs,
)

OK, REFUSED, UNKNOWN = Verdict.OK, Verdict.REFUSED, Verdict.UNKNOWN
G5 = instances_quota("ml.g5.xlarge")


def offer(aws: Aws, zones: list[str], *, quota: bool = True) -> None:
    def answer(request: dict[str, Any]) -> dict[str, Any]:
        assert request["Filters"] == [{"Name": "instance-type", "Values": ["g5.xlarge"]}]
        assert request["LocationType"] == "availability-zone"
        return {"InstanceTypeOfferings": [{"Location": zone} for zone in zones]}

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
    (row,) = offerings.check(make(prod_text=endpoint_stack()))
    assert row.verdict is verdict


NETWORK = {
    f"Subnet{number}": ("AWS::EC2::Subnet", {"AvailabilityZone": {"Fn::Select": [number]}})
    for number in (0, 1)
}


def subnets(*zones: str) -> dict[str, Any]:
    return {"Subnets": [{"AvailabilityZone": it} for it in zones]}


@pytest.mark.parametrize(
    ("having", "verdict", "said"),
    [
        (["b", "c"], OK, "EC2 offers it in b, c"),
        (["c"], REFUSED, "EC2 offers it in c, and the network is in a, b"),
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
    (row,) = offerings.check(make(prod_network=NETWORK, prod_text=endpoint_stack()))
    assert row.verdict is verdict
    assert said in row.message
    (request,) = aws.requests("ec2.DescribeSubnets")
    assert request["SubnetIds"] == ["subnet-0", "subnet-1"]


def test_the_zones_of_a_network_to_come_are_not_guessed(make: MakeAccount, aws: Aws) -> None:
    offer(aws, ["a"])
    (row,) = offerings.check(make(prod_network=NETWORK, prod_text=endpoint_stack()))
    assert row.verdict is OK


def test_the_zones_of_a_type_that_ec2_does_not_list_are_not_asked(
    make: MakeAccount, aws: Aws
) -> None:
    offer(aws, [])
    network = {"Subnet": ("AWS::EC2::Subnet", {"AvailabilityZone": "a"})}
    (row,) = offerings.check(make(prod_network=network, prod_text=endpoint_stack()))
    assert row.verdict is OK


def test_zones_that_the_stage_names_are_taken(make: MakeAccount, aws: Aws) -> None:
    offer(aws, ["a", "c"])
    network = {"Subnet": ("AWS::EC2::Subnet", {"AvailabilityZone": "b"})}
    (row,) = offerings.check(make(prod_network=network, prod_text=endpoint_stack()))
    assert row.verdict is REFUSED


TAKEN = {
    "log group /aws/prod-text": ("AWS::Logs::LogGroup", {"LogGroupName": "/aws/prod-text"}),
    "parameter /triton/prod/text/m": ("AWS::SSM::Parameter", {"Name": "/triton/prod/text/m"}),
    "topic prod-alarms": ("AWS::SNS::Topic", {"TopicName": "prod-alarms"}),
    "endpoint prod-text": endpoint_stack()["Endpoint"],
}
"""Subject of a finding -> the resource whose name is taken."""


def names_exist(aws: Aws, *, exist: bool = True) -> None:
    aws.answers |= {
        "cloudformation.ListStackResources": not_deployed(),
        "logs.DescribeLogGroups": {"logGroups": [{"logGroupName": "/aws/prod-text-2"}]},
        "ssm.GetParametersByPath": {"Parameters": []},
        "sns.ListTopics": {"Topics": []},
    }
    runs(aws)
    if exist:
        runs(aws, prod_text=("ml.g5.xlarge", 1))
        arn = "arn:aws:sns:us-east-1:111122223333:prod-alarms"
        aws.answers |= {
            "logs.DescribeLogGroups": {"logGroups": [{"logGroupName": "/aws/prod-text"}]},
            # An empty page with a token of the next is allowed.
            "ssm.GetParametersByPath": lambda request: (
                {"Parameters": [{"Name": "/triton/prod/text/m"}]}
                if "NextToken" in request
                else {"Parameters": [], "NextToken": "more"}
            ),
            "sns.ListTopics": {"Topics": [{"TopicArn": arn}]},
        }


@pytest.mark.parametrize("subject", TAKEN)
def test_a_name_that_is_taken_is_refused_with_what_tells_whose_it_is(
    make: MakeAccount, aws: Aws, subject: str
) -> None:
    names_exist(aws)
    (finding,) = names.check(make(prod_models={"Named": TAKEN[subject]}))
    assert (finding.subject, finding.verdict) == (subject, REFUSED)
    name = subject.rpartition(" ")[2]
    assert f"describe-stack-resources --physical-resource-id {name} shows" in finding.fix


def test_a_name_that_moves_between_the_stage_s_stacks_is_not_refused(
    make: MakeAccount, aws: Aws
) -> None:
    names_exist(aws)
    aws.answers["cloudformation.ListStackResources"] = lambda request: (
        resources(Log="/aws/prod-text")
        if request["StackName"] == "prod-text"
        else {"StackResourceSummaries": []}
    )
    group = {"Group": TAKEN["log group /aws/prod-text"]}
    (finding,) = names.check(make(prod_models=group, prod_text={}))
    assert finding.verdict is UNKNOWN
    assert finding.message == "belongs to prod-text now, and to prod-models after this deploy"


def test_the_stage_s_own_names_are_its_own(make: MakeAccount, aws: Aws) -> None:
    names_exist(aws)
    aws.answers["cloudformation.ListStackResources"] = resources(Log="/aws/prod-text")
    assert list(names.check(make(prod_models={"Log": TAKEN["log group /aws/prod-text"]}))) == []


def test_free_names_of_every_kind_are_counted(make: MakeAccount, aws: Aws) -> None:
    names_exist(aws, exist=False)
    of = {f"R{number}": resource for number, resource in enumerate(TAKEN.values())}
    (finding,) = names.check(
        make(prod_models={**of, **endpoint_stack(), "Unnamed": ("AWS::Logs::LogGroup", {})})
    )
    assert finding.message == "4 new names are free"
