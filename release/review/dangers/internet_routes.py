"""Ways between a network and the internet, or other networks."""

from collections.abc import Iterator
from typing import Any

from release.review.comparison import Comparison
from release.review.dangers.found import Found
from release.review.dangers.public_exposure import ANYWHERE

_GROUPS = ("AWS::EC2::SecurityGroup", "AWS::EC2::SecurityGroupEgress")

_GATEWAYS = (
    "AWS::EC2::EgressOnlyInternetGateway",
    "AWS::EC2::InternetGateway",
    "AWS::EC2::NatGateway",
    "AWS::EC2::TransitGatewayAttachment",
    "AWS::EC2::VPCGatewayAttachment",
    "AWS::EC2::VPCPeeringConnection",
)
"""What a VPC reaches other networks through (VPC user guide, "Connect your VPC to other networks
and accounts")."""


def internet_routes(comparison: Comparison) -> Iterator[Found]:
    """A network gets a gateway, a route, or public addresses: new ones are judged like others.

    So does a security group with a rule that lets traffic out to anywhere, where it had none (VPC
    user guide, security-group-rules). The private network of a stage reaches S3, through a gateway
    endpoint, and nothing else: its template has no route at all.
    """
    for change in comparison.changes:
        new = change.after.get("Properties", {})
        was = change.before.get("Properties", {})
        said = None
        if change.type in _GATEWAYS and change.after and not change.before:
            said = f"{change.type} {change.path}"
        elif change.type == "AWS::EC2::Route" and change.after and change.before != change.after:
            said = f"a route {change.path} to {_destination(new)}"
        elif change.type == "AWS::EC2::Subnet" and _public(new) and not _public(was):
            said = f"public addresses in {change.path}"
        elif change.type in _GROUPS and _open_ways(new) > _open_ways(was):
            said = f"the security group {change.path} lets traffic out to anywhere"
        if said:
            yield Found(
                f"{change.stack}.{change.path}",
                f"{change.stack} reaches other networks, or is reached: {said}",
                group=change.stack,
                heading=f"{change.stack} reaches other networks, or is reached, in {{count}} ways",
            )


def _open_ways(group: dict[str, Any]) -> int:
    """Return how many rules let traffic out to any address, in a group or as a resource."""
    rules = [*group.get("SecurityGroupEgress", ()), group]
    return sum(it.get(key) in ANYWHERE for it in rules for key in ("CidrIp", "CidrIpv6"))


def _public(subnet: dict[str, object]) -> bool:
    return bool(subnet.get("MapPublicIpOnLaunch"))


def _destination(route: dict[str, object]) -> object:
    found = (it for key, it in sorted(route.items()) if key.startswith("Destination"))
    return next(found, "nowhere")
