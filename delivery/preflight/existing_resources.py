"""Check the resources that a stage's file names under `existing`: network, key, role, boundary,
bucket."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from delivery.aws import failure_reason
from delivery.preflight.account import Account, CheckFinding, ok, refused, unknown
from platform_facts.rules import checked_yaml

NOT_FOUND = (
    *("404", "NoSuchBucket", "NoSuchEntity", "NotFoundException"),
    *("InvalidGroup.NotFound", "InvalidGroupId.Malformed", "InvalidSubnetID.NotFound"),
)
"""Error codes for a resource that does not exist in the account and region."""
ADDRESSES = 2
"""Private addresses that a subnet needs for each instance (SageMaker developer guide, host-vpc)."""
KEY_ACTIONS = ("kms:Decrypt", "kms:GenerateDataKey")


def check(account: Account) -> Iterator[CheckFinding]:
    """Check every key of the section; AWS is asked only about keys that are there."""
    existing = account.tree.stage(account.stage).existing
    if existing.get("vpc_id"):
        yield from _checked(account, "subnet_ids", _check_subnets)
    if existing.get("security_group_ids"):
        yield from _checked(account, "security_group_ids", _check_groups)
    for key, function in _CHECKS.items():
        if existing.get(key):
            yield from _checked(account, key, function)


Faults = Iterator[tuple[str, str]]
"""(problem, fix) of a value of the stage's file."""


def _checked(
    account: Account, key: str, function: Callable[[Account, Any], Faults]
) -> Iterator[CheckFinding]:
    """Yield the problems of a key at its line, or that it can be used."""
    path = Path("stages", f"{account.stage}.yaml")
    line = checked_yaml.line_of(account.tree.root / path, "existing", key)
    subject = f"{path}:{line}: existing.{key}"
    try:
        problems = list(function(account, account.tree.stage(account.stage).existing[key]))
    except ClientError as error:
        if error.response["Error"]["Code"] not in NOT_FOUND:
            yield unknown(subject, failure_reason(error))
            return
        problems = [(failure_reason(error), f"write one that exists in {account.region}")]
    for problem, fix in problems:
        yield refused(subject, problem, fix)
    if not problems:
        yield ok(subject, "exists and can be used")


def _check_subnets(account: Account, ids: list[str]) -> Faults:
    """Check VPC, zones, addresses and routes of the subnets."""
    ec2, vpc = account.client("ec2"), account.tree.stage(account.stage).existing["vpc_id"]
    subnets = ec2.describe_subnets(SubnetIds=ids)["Subnets"]
    filters = [{"Name": "vpc-id", "Values": [vpc]}]
    tables = ec2.describe_route_tables(Filters=filters)["RouteTables"]
    service = f"com.amazonaws.{account.region}.s3"
    endpoints = [
        endpoint
        for endpoint in ec2.describe_vpc_endpoints(Filters=filters)["VpcEndpoints"]
        if (endpoint["VpcId"], endpoint["ServiceName"]) == (vpc, service)
        and endpoint["State"].lower() == "available"
    ]
    zones = {subnet["AvailabilityZone"] for subnet in subnets}
    if len(zones) < 2:
        yield f"all subnets are in {', '.join(zones)}", "write subnets of two or more zones"
    for subnet in subnets:
        name = subnet["SubnetId"]
        if subnet["VpcId"] != vpc:
            yield f"{name} is in {subnet['VpcId']}, not in {vpc}", "write subnets of vpc_id"
            continue
        if subnet["AvailableIpAddressCount"] < ADDRESSES:
            free = subnet["AvailableIpAddressCount"]
            yield f"{name} has {free} free addresses", "write a subnet with free addresses"
        table = _route_table(tables, name)
        routes = [route for route in table["Routes"] if route.get("State") == "active"]
        if any(route.get("GatewayId", "").startswith("igw-") for route in routes):
            yield (
                f"{name} is public: it has a route to an internet gateway, and instances get no "
                "public address",
                "write a private subnet",
            )
        elif not any(
            table["RouteTableId"] in endpoint.get("RouteTableIds", ())  # of a gateway endpoint
            or endpoint.get("PrivateDnsEnabled")
            for endpoint in endpoints
        ) and not any(route.get("DestinationCidrBlock") == "0.0.0.0/0" for route in routes):
            yield (
                f"{name} has no route to S3, where instances load models",
                f"aws ec2 create-vpc-endpoint --vpc-id {vpc} --service-name {service} "
                f"--route-table-ids {table['RouteTableId']}",
            )


def _route_table(tables: list[dict[str, Any]], subnet: str) -> dict[str, Any]:
    """Return the route table of a subnet: its own, or the main table of the VPC."""
    by_subnet = {
        association.get("SubnetId", "main"): table
        for table in tables
        for association in table["Associations"]
    }
    return by_subnet.get(subnet) or by_subnet["main"]


def _check_groups(account: Account, ids: list[str]) -> Faults:
    vpc = account.tree.stage(account.stage).existing.get("vpc_id")
    for group in account.client("ec2").describe_security_groups(GroupIds=ids)["SecurityGroups"]:
        if group["VpcId"] != vpc:
            name = group["GroupId"]
            yield f"{name} is in {group['VpcId']}, not in {vpc}", "write groups of vpc_id"


def _check_key(account: Account, arn: str) -> Faults:
    kms = account.client("kms")
    key = kms.describe_key(KeyId=arn)["KeyMetadata"]
    if key["KeyState"] != "Enabled" or key["KeySpec"] != "SYMMETRIC_DEFAULT":
        yield (
            f"the key is {key['KeyState']}, of type {key['KeySpec']}",
            "write an enabled symmetric key",
        )
    policy = json.loads(kms.get_key_policy(KeyId=arn, PolicyName="default")["Policy"])
    root = f"arn:{arn.split(':')[1]}:iam::{account.caller.account}:root"
    if not any(_lets_iam_decide(statement, root) for statement in policy["Statement"]):
        yield (
            f"the key's policy does not let IAM policies of {account.caller.account} allow "
            f"{', '.join(KEY_ACTIONS)}",
            f"add a statement that allows kms:* to {root} (KMS developer guide, "
            "key-policy-default), or the roles of the stage",
        )


def _lets_iam_decide(statement: dict[str, Any], root: str) -> bool:
    """Return whether a statement of a key's policy delegates to IAM (KMS guide, key-policies)."""
    principals = statement.get("Principal")
    named = principals.get("AWS", []) if isinstance(principals, dict) else principals
    names, actions = (
        [value] if isinstance(value, str) else list(value or [])
        for value in (named, statement.get("Action"))
    )
    allowed = {"*", "kms:*", *KEY_ACTIONS} & set(actions)
    is_complete = allowed & {"*", "kms:*"} or allowed >= set(KEY_ACTIONS)
    return (
        statement["Effect"] == "Allow"
        and bool({root, root.split(":")[4], "*"} & set(names))
        and bool(is_complete)
    )


def _check_role(account: Account, arn: str) -> Faults:
    name = arn.rpartition("/")[2]
    role = account.client("iam").get_role(RoleName=name)["Role"]
    if role["Arn"] != arn:
        yield f"the role {name} has the ARN {role['Arn']}", f"write {role['Arn']}"
    if "sagemaker.amazonaws.com" not in json.dumps(role["AssumeRolePolicyDocument"]):
        yield (
            "SageMaker may not assume the role",
            "allow sts:AssumeRole to sagemaker.amazonaws.com in its trust policy",
        )


def _check_boundary(account: Account, name: str) -> Faults:
    partition = account.caller.arn.split(":")[1]
    arn = f"arn:{partition}:iam::{account.caller.account}:policy/{name}"
    account.client("iam").get_policy(PolicyArn=arn)
    yield from ()


def _check_bucket(account: Account, name: str) -> Faults:
    response = account.client("s3").head_bucket(Bucket=name)
    region = response.get("BucketRegion", account.region)
    if region != account.region:
        yield f"the bucket is in {region}", f"write a bucket in {account.region}"


_CHECKS: dict[str, Callable[[Account, Any], Faults]] = {
    "kms_key_arn": _check_key,
    "execution_role_arn": _check_role,
    "permissions_boundary": _check_boundary,
    "capture_bucket": _check_bucket,
}
