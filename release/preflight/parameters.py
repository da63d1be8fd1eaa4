"""The account's parameters, alarms and networks, against what this deploy adds."""

from collections.abc import Iterator

from release.preflight.account import Account, NotDeployed
from release.preflight.rows import Row, Topic

TOPIC = Topic("counts")
MOST_PARAMETERS = 10_000
"""Standard parameters of an account in a region
(https://docs.aws.amazon.com/systems-manager/latest/userguide/parameter-store-advanced-parameters.html)."""
DEFAULT_TIER = "/ssm/parameter-store/default-parameter-tier"
"""The setting by which parameters that name no tier, as the templates' do, get one: with
Intelligent-Tiering, the one after the last standard parameter is an advanced one
(https://docs.aws.amazon.com/systems-manager/latest/userguide/ps-default-tier.html). Not asked."""
NETWORKS = "VPCs per Region"
"""Quota of the service `vpc`, 5 by default
(https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html)."""


def ask(account: Account) -> Iterator[Row]:
    """Count the standard parameters, and the networks; say how many alarms are new."""
    new = _new(account, "AWS::CloudWatch::Alarm")
    yield TOPIC.ok(
        "alarms",
        # https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_limits.html
        f"{new} new; there is no limit on the total number of alarms per account",
    )
    new = _new(account, "AWS::SSM::Parameter")
    pages = (
        account.client("ssm")
        .get_paginator("describe_parameters")
        .paginate(ParameterFilters=[{"Key": "Tier", "Values": ["Standard"]}])
    )
    there = sum(len(page["Parameters"]) for page in pages)
    said = f"{there} of {MOST_PARAMETERS} are there, this deploy adds {new}"
    if new and there + new > MOST_PARAMETERS:
        yield TOPIC.unknown(
            "parameters",
            f"{said}; the account's default tier may be intelligent, and make advanced ones",
            f"aws ssm get-service-setting --setting-id {DEFAULT_TIER}, "
            "or delete some: aws ssm delete-parameters --names ...",
        )
    else:
        yield TOPIC.ok("parameters", said)
    if networks := _new(account, "AWS::EC2::VPC"):
        yield _networks(account, networks)


def _networks(account: Account, new: int) -> Row:
    """Return the row of the networks that a region may have."""
    pages = account.client("ec2").get_paginator("describe_vpcs").paginate()
    there = sum(len(page["Vpcs"]) for page in pages)
    counted = f"{there} are there, this deploy adds {new}"
    quota = account.quotas.of("vpc").get(NETWORKS)
    if quota is None:
        return TOPIC.unknown(NETWORKS, f"Service Quotas has none of this name; {counted}")
    if there + new > quota.value:
        return quota.too_small(TOPIC, f"{quota}; {counted}", there + new)
    return TOPIC.ok(NETWORKS, f"{quota}; {counted}")


def _new(account: Account, kind: str) -> int:
    return sum(not _is_deployed(account, stack, name) for stack, name, _ in account.resources(kind))


def _is_deployed(account: Account, stack: str, logical_id: str) -> bool:
    try:
        return logical_id in account.deployed(stack)
    except NotDeployed:
        return False
