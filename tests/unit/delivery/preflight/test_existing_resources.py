"""Tests of the checks of resources that a stage names."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from delivery.preflight import existing_resources
from delivery.preflight.account import Verdict
from tests.unit.delivery.preflight.conftest import ACCOUNT, Aws, denied, error

STAGE = f"""\
region: us-east-1
existing:
  vpc_id: vpc-0a
  subnet_ids: [subnet-0a, subnet-0b]
  security_group_ids: [sg-0a]
  kms_key_arn: arn:aws:kms:us-east-1:{ACCOUNT}:key/a
  execution_role_arn: arn:aws:iam::{ACCOUNT}:role/teams/serving
  permissions_boundary: teams/boundary
  capture_bucket: acme-captures
"""
ROLE = f"arn:aws:iam::{ACCOUNT}:role/teams/serving"
DATE = "2026-01-01"


def answers() -> dict[str, Any]:
    """Return the answers of an account in which everything is right."""
    subnet = {"VpcId": "vpc-0a", "AvailableIpAddressCount": 200}
    statement = {
        "Effect": "Allow",
        "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"},
        "Action": "kms:*",
        "Resource": "*",
    }
    role = {
        "Path": "/teams/",
        "RoleName": "serving",
        "RoleId": "A" * 16,
        "Arn": ROLE,
        "CreateDate": DATE,
        "AssumeRolePolicyDocument": '{"Principal": {"Service": "sagemaker.amazonaws.com"}}',
    }
    local = {"DestinationCidrBlock": "10.0.0.0/16", "GatewayId": "local", "State": "active"}
    own, main = {"SubnetId": "subnet-0a"}, {"Main": True}
    tables = [
        {"RouteTableId": "rtb-1", "Routes": [local], "Associations": [own]},
        {"RouteTableId": "rtb-2", "Routes": [local], "Associations": [main]},
    ]
    gateway = {
        "VpcId": "vpc-0a",
        "ServiceName": "com.amazonaws.us-east-1.s3",
        "State": "available",
        "RouteTableIds": ["rtb-1", "rtb-2"],
    }
    return {
        "ec2.DescribeSubnets": {
            "Subnets": [
                {**subnet, "SubnetId": "subnet-0a", "AvailabilityZone": "us-east-1a"},
                {**subnet, "SubnetId": "subnet-0b", "AvailabilityZone": "us-east-1b"},
            ]
        },
        "ec2.DescribeRouteTables": {"RouteTables": tables},
        "ec2.DescribeVpcEndpoints": {"VpcEndpoints": [gateway]},
        "ec2.DescribeSecurityGroups": {"SecurityGroups": [{"GroupId": "sg-0a", "VpcId": "vpc-0a"}]},
        "kms.DescribeKey": {
            "KeyMetadata": {"KeyId": "a", "KeyState": "Enabled", "KeySpec": "SYMMETRIC_DEFAULT"}
        },
        "kms.GetKeyPolicy": {"Policy": json.dumps({"Statement": [statement]})},
        "iam.GetRole": {"Role": role},
        "iam.GetPolicy": {"Policy": {"PolicyName": "boundary"}},
        "s3.HeadBucket": {"BucketRegion": "us-east-1"},
    }


def test_every_named_resource_is_checked(aws: Aws) -> None:
    aws.answers |= answers()
    findings = list(existing_resources.check(aws.account(stage=STAGE)))
    assert [finding.verdict for finding in findings] == [Verdict.OK] * 6
    assert aws.requests("iam.GetRole") == [{"RoleName": "serving"}]
    (policy,) = aws.requests("iam.GetPolicy")
    assert policy["PolicyArn"] == f"arn:aws:iam::{ACCOUNT}:policy/teams/boundary"


Change = Callable[[dict[str, Any]], object]


def subnet(number: int, **changes: Any) -> Change:
    return lambda account: account["ec2.DescribeSubnets"]["Subnets"][number].update(changes)


def routes(*new: dict[str, Any]) -> Change:
    return lambda account: account["ec2.DescribeRouteTables"]["RouteTables"][0].update(Routes=new)


def gateway(**changes: Any) -> Change:
    return lambda account: account["ec2.DescribeVpcEndpoints"]["VpcEndpoints"][0].update(changes)


def failing(operation: str, code: str) -> Change:
    return lambda account: account.update({operation: error(code, "no such thing")})


INTERNET = {"DestinationCidrBlock": "0.0.0.0/0", "GatewayId": "igw-1", "State": "active"}
OTHER_STATEMENT = {"Effect": "Allow", "Principal": {"AWS": ROLE}, "Action": "kms:*"}
FAULTS: dict[str, tuple[Change, str, str]] = {
    "one zone": (subnet(1, AvailabilityZone="us-east-1a"), "4: existing.subnet_ids",
     "all subnets are in us-east-1a"),
    "another VPC": (subnet(1, VpcId="vpc-0b"), "4: existing.subnet_ids",
     "subnet-0b is in vpc-0b, not in vpc-0a"),
    "full subnet": (subnet(0, AvailableIpAddressCount=1), "4: existing.subnet_ids",
     "subnet-0a has 1 free addresses"),
    "public subnet": (routes(INTERNET), "4: existing.subnet_ids", "subnet-0a is public"),
    "no route to S3": (gateway(RouteTableIds=["rtb-2"]), "4: existing.subnet_ids",
     "subnet-0a has no route to S3"),
    "gateway to DynamoDB": (
        lambda account: account["ec2.DescribeVpcEndpoints"].update(
            VpcEndpoints=[
                {**endpoint, "ServiceName": f"com.amazonaws.us-east-1.{service}"}
                | {"RouteTableIds": [table]}
                for endpoint in account["ec2.DescribeVpcEndpoints"]["VpcEndpoints"]
                for service, table in {"dynamodb": "rtb-1", "s3": "rtb-2"}.items()
            ]
        ),
        "4: existing.subnet_ids",
        "has no route to S3",
    ),
    "unknown subnet": (failing("ec2.DescribeSubnets", "InvalidSubnetID.NotFound"),
     "4: existing.subnet_ids", "no such thing"),
    "group of another VPC": (
        lambda account: account["ec2.DescribeSecurityGroups"]["SecurityGroups"][0].update(
            VpcId="vpc-0b"
        ),
        "5: existing.security_group_ids",
        "sg-0a is in vpc-0b, not in vpc-0a",
    ),
    "disabled key": (
        lambda account: account["kms.DescribeKey"]["KeyMetadata"].update(KeyState="Disabled"),
        "6: existing.kms_key_arn",
        "the key is Disabled",
    ),
    "key without delegation to IAM": (
        lambda account: account.update(
            {"kms.GetKeyPolicy": {"Policy": json.dumps({"Statement": [OTHER_STATEMENT]})}}
        ),
        "6: existing.kms_key_arn",
        "the key's policy does not let IAM policies",
    ),
    "role of another service": (
        lambda account: account["iam.GetRole"]["Role"].update(AssumeRolePolicyDocument="{}"),
        "7: existing.execution_role_arn",
        "SageMaker may not assume the role",
    ),
    "role with another path": (
        lambda account: account["iam.GetRole"]["Role"].update(
            Arn=f"arn:aws:iam::{ACCOUNT}:role/serving"
        ),
        "7: existing.execution_role_arn",
        "the role serving has the ARN arn:aws:iam::",
    ),
    "no boundary": (failing("iam.GetPolicy", "NoSuchEntity"), "8: existing.permissions_boundary",
     "no such thing"),
    "bucket in another region": (
        lambda account: account["s3.HeadBucket"].update(BucketRegion="eu-west-1"),
        "9: existing.capture_bucket",
        "the bucket is in eu-west-1",
    ),
    "no bucket": (failing("s3.HeadBucket", "404"), "9: existing.capture_bucket", "no such thing"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_refused_at_its_line(aws: Aws, fault: str) -> None:
    change, key, message = FAULTS[fault]
    account = copy.deepcopy(answers())
    change(account)
    aws.answers |= account
    (finding,) = (
        finding
        for finding in existing_resources.check(aws.account(stage=STAGE))
        if finding.verdict is not Verdict.OK
    )
    assert finding.verdict is Verdict.REFUSED
    assert finding.subject == f"stages/prod.yaml:{key}"
    assert message in finding.message
    assert finding.fix


NAT = {"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-1", "State": "active"}


@pytest.mark.parametrize(
    "changes",
    [
        [gateway(RouteTableIds=["rtb-2"]), routes(NAT)],
        [gateway(RouteTableIds=[], PrivateDnsEnabled=True)],
    ],
    ids=["NAT gateway", "interface endpoint"],
)
def test_other_ways_to_s3_are_accepted(aws: Aws, changes: list[Change]) -> None:
    account = copy.deepcopy(answers())
    for change in changes:
        change(account)
    aws.answers |= account
    findings = list(existing_resources.check(aws.account(stage=STAGE)))
    assert {finding.verdict for finding in findings} == {Verdict.OK}


def test_missing_permission_is_unknown(aws: Aws) -> None:
    aws.answers |= answers() | {"iam.GetRole": denied("iam:GetRole")}
    (finding,) = (
        finding
        for finding in existing_resources.check(aws.account(stage=STAGE))
        if finding.verdict is not Verdict.OK
    )
    assert (finding.verdict, finding.message) == (Verdict.UNKNOWN, "no permission (iam:GetRole)")
