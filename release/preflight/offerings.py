"""Whether the region, and the zones of the stage's network, have the instance types."""

from collections.abc import Iterator

from release.preflight.account import Account
from release.preflight.findings import CheckFinding, ok, refused, unknown
from release.preflight.fleets import instance_types
from release.preflight.quotas import SAGEMAKER, instances_quota

SUBNET = "AWS::EC2::Subnet"


def check(account: Account) -> Iterator[CheckFinding]:
    """Look up each instance type of the stage.

    A quota of the type's name is SageMaker's own sign that it hosts on it here; EC2's offerings are
    those of the same type without "ml.", which SageMaker's instances are made of. That either is
    complete has no source: only where both lack it is a type refused, and its zones are compared
    only where EC2 has it.
    """
    network = _zones(account)
    for name in sorted(instance_types(account)):
        has_quota = instances_quota(name) in account.quotas.of(SAGEMAKER)
        offers = _offers(account, name)
        message = (
            f"SageMaker has {'a' if has_quota else 'no'} quota for it here; EC2 offers it in "
            f"{', '.join(sorted(offers)) or 'no zone'}"
        )
        if not has_quota and not offers:
            yield refused(name, message, "choose another instance_type, or another region")
        elif offers and network and not network & offers:
            message += f", and the network is in {', '.join(sorted(network))}"
            yield refused(name, message, "choose another instance_type, or another network")
        else:
            yield (ok if has_quota else unknown)(name, message)


def _zones(account: Account) -> set[str]:
    """Return the zones of the network that the templates name or deployed subnets have."""
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


def _offers(account: Account, instance_type: str) -> set[str]:
    paginator = account.client("ec2").get_paginator("describe_instance_type_offerings")
    names = {"Name": "instance-type", "Values": [instance_type.removeprefix("ml.")]}
    pages = paginator.paginate(LocationType="availability-zone", Filters=[names])
    return {offer["Location"] for page in pages for offer in page["InstanceTypeOfferings"]}
