"""Whether the region, and the zones of the stage's network, have the instance types."""

from collections.abc import Iterator
from typing import Any

from release.preflight.account import Account
from release.preflight.findings import CheckFinding, ok, refused, unknown
from release.preflight.fleets import endpoints
from release.preflight.instance_quotas import SERVICE, quota_name

SUBNET = "AWS::EC2::Subnet"


def check(account: Account) -> Iterator[CheckFinding]:
    """Look up each instance type of the stage.

    A quota of the type's name is SageMaker's own sign that it hosts on it here; EC2's offerings are
    those of the same type without "ml.", which SageMaker's instances are made of. That either is
    complete has no source: only where both lack it is a type refused, and its zones are looked up
    only where EC2 has it.
    """
    zones = _zones(account)
    variants = (variant for each in endpoints(account) for variant in each.variants)
    types = {name for variant in variants for name in variant.instance_types}
    for instance_type in sorted(types):
        in_sagemaker = quota_name(instance_type) in account.quotas.of(SERVICE)
        in_ec2 = bool(_offers(account, instance_type, "region"))
        if in_sagemaker or in_ec2:
            yield (ok if in_sagemaker else unknown)(
                instance_type,
                f"SageMaker has {'a' if in_sagemaker else 'no'} quota for it here; "
                f"EC2 {'offers' if in_ec2 else 'does not offer'} it",
            )
        else:
            yield refused(
                instance_type,
                f"{account.region} has no {instance_type}: EC2 does not offer it, SageMaker has no "
                "quota for it",
                "choose another instance_type, or another region",
            )
        if zones and in_ec2:
            yield _compare_zones(account, instance_type, zones)


def _compare_zones(account: Account, instance_type: str, zones: set[str]) -> CheckFinding:
    offers = _offers(account, instance_type, "availability-zone")
    subject, network = f"{instance_type} in zones", f"the network is in {', '.join(sorted(zones))}"
    if not zones & offers:
        return refused(
            subject,
            f"{network}, and EC2 offers it in {', '.join(sorted(offers))}",
            "choose another instance_type, or a network in zones that have it",
        )
    if missing := zones - offers:
        missing_in = f"{network}; EC2 does not offer it in {', '.join(sorted(missing))}"
        return ok(subject, f"{missing_in}: all instances may be in one zone")
    return ok(subject, f"{network}, and EC2 offers it there")


def _zones(account: Account) -> set[str]:
    """Return the zones of the network, as far as the stage's file or deployed subnets tell them."""
    zones, deployed = set[str](), list[str]()
    for stack, name, subnet in account.resources(SUBNET):
        if isinstance(subnet["AvailabilityZone"], str):
            zones.add(subnet["AvailabilityZone"])
        elif subnet_id := account.deployed(stack).get(name):
            deployed.append(subnet_id)
    if deployed:
        subnets = account.client("ec2").describe_subnets(SubnetIds=deployed)["Subnets"]
        zones |= {subnet["AvailabilityZone"] for subnet in subnets}
    return zones


def _offers(account: Account, instance_type: str, place: str) -> set[str]:
    pages: Any = (
        account.client("ec2")
        .get_paginator("describe_instance_type_offerings")
        .paginate(
            LocationType=place,
            Filters=[{"Name": "instance-type", "Values": [instance_type.removeprefix("ml.")]}],
        )
    )
    return {offer["Location"] for page in pages for offer in page["InstanceTypeOfferings"]}
