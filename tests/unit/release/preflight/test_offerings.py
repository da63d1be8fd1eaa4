"""Instance types that a region and its zones have."""

from typing import Any

import pytest

from release.preflight import offerings
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
