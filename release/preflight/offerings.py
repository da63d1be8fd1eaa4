"""Whether the region, and the zones of the stage's network, have the instance types."""

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from release.preflight.account import Account, NotDeployed
from release.preflight.asking import why
from release.preflight.fleets import fleets
from release.preflight.instance_quotas import SERVICE, quota_name
from release.preflight.rows import Row, Topic

TOPIC = Topic("offered")
SUBNET = "AWS::EC2::Subnet"
PROBABLY = "the network will probably be in"


def ask(account: Account) -> Iterator[Row]:
    """Ask for each instance type of the stage.

    A quota of the type's name is SageMaker's own sign that it hosts on it here; EC2's offerings are
    those of the same type without "ml.", which SageMaker's instances are made of. That either is
    complete has no source: only where both are silent is a type refused, and its zones are asked
    only where EC2 knows it.
    """
    types = sorted({kind for fleet in fleets(account) for kind in fleet.most})
    zones = {} if not any(account.resources(SUBNET)) else _zones(account)
    for kind in types:
        try:
            in_ec2 = _offered(account, kind, "region")
        except (ClientError, BotoCoreError) as error:
            yield _of_sagemaker(account, kind, why(error))
            continue
        yield _of_region(account, kind, bool(in_ec2))
        if zones and in_ec2:
            yield _of_zones(kind, set(_offered(account, kind, "availability-zone")), zones)


def _of_sagemaker(account: Account, kind: str, unasked: str) -> Row:
    if quota_name(kind) in account.quotas.of(SERVICE):
        return TOPIC.ok(kind, f"SageMaker has a quota for it here; EC2's offerings: {unasked}")
    return TOPIC.unknown(kind, f"SageMaker has no quota for it here; EC2's offerings: {unasked}")


def _of_region(account: Account, kind: str, in_ec2: bool) -> Row:
    try:
        in_sagemaker = quota_name(kind) in account.quotas.of(SERVICE)
    except (ClientError, BotoCoreError) as error:
        said = f"EC2 {'offers' if in_ec2 else 'does not offer'} it here; SageMaker's quotas: "
        return (TOPIC.ok if in_ec2 else TOPIC.unknown)(kind, said + why(error))
    match in_sagemaker, in_ec2:
        case True, True:
            return TOPIC.ok(kind, "SageMaker has a quota for it here, and EC2 offers it")
        case True, False:
            return TOPIC.ok(kind, "SageMaker has a quota for it here; EC2 does not offer it")
        case False, True:
            return TOPIC.unknown(kind, "EC2 offers it here; SageMaker has no quota for it")
    return TOPIC.refused(
        kind,
        f"{account.region} has no {kind}: EC2 does not offer it, SageMaker has no quota for it",
        "choose another instance_type, or another region",
    )


def _of_zones(kind: str, offering: set[str], zones: dict[str, str]) -> Row:
    having = sorted(offering & zones.keys())
    missing = sorted(zones.keys() - offering)
    subject = f"{kind} in zones"
    of = next(iter(zones.values()))
    if not having:
        return (TOPIC.unknown if of == PROBABLY else TOPIC.refused)(
            subject,
            f"{of} {', '.join(missing)}, and EC2 offers it in {', '.join(sorted(offering))}",
            "choose another instance_type, or a network in zones that have it",
        )
    if missing:
        said = f"{of}: EC2 offers it in {', '.join(having)} and not in {', '.join(missing)}"
        return TOPIC.ok(subject, f"{said}: all instances may be in one zone")
    return TOPIC.ok(subject, f"{of}: EC2 offers it in {', '.join(having)}")


def _zones(account: Account) -> dict[str, str]:
    """Return zone -> how it is known, of the network's subnets, or of those to come.

    Fn::GetAZs, by which CloudFormation chooses, gives the zones that have a default subnet, or all
    if none has one, and in no order that is promised (its reference): the first by name are taken.
    """
    ec2 = account.client("ec2")
    try:
        subnets = [_deployed(account, stack, name) for stack, name, _ in account.resources(SUBNET)]
        found = ec2.describe_subnets(SubnetIds=subnets)["Subnets"]
        return {it["AvailabilityZone"]: "the network is in" for it in found}
    except NotDeployed:
        named = [str(it["AvailabilityZone"]) for it in _chosen_by_the_stage(account)]
        if named:
            return dict.fromkeys(named, "the network will be in")
        default = [{"Name": "default-for-az", "Values": ["true"]}]
        found = ec2.describe_subnets(Filters=default)["Subnets"]
        names = {it["AvailabilityZone"] for it in found} or {
            it["ZoneName"] for it in ec2.describe_availability_zones()["AvailabilityZones"]
        }
        count = len(list(account.resources(SUBNET)))
        return dict.fromkeys(sorted(names)[:count], PROBABLY)


def _deployed(account: Account, stack: str, logical_id: str) -> str:
    """Return the id of a subnet. Raises `NotDeployed` for one that is to come as well."""
    found = account.deployed(stack)
    if logical_id not in found:
        raise NotDeployed(stack)
    return found[logical_id]


def _chosen_by_the_stage(account: Account) -> list[Any]:
    """Return the subnets whose zone the stage's file names."""
    subnets = (it for _, _, it in account.resources(SUBNET))
    return [it for it in subnets if isinstance(it["AvailabilityZone"], str)]


def _offered(account: Account, kind: str, by: str) -> list[str]:
    pages: Any = account.client("ec2").get_paginator("describe_instance_type_offerings")
    pages = pages.paginate(
        LocationType=by,
        Filters=[{"Name": "instance-type", "Values": [kind.removeprefix("ml.")]}],
    )
    return [it["Location"] for page in pages for it in page["InstanceTypeOfferings"]]
