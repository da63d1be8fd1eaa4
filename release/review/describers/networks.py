"""Describe changes of access between a network and the internet, or other networks."""

from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, collapse_addresses
from typing import Any

from release.review.property_change import ChangeLine, PropertyChange
from release.review.values import listed, text_of

PUBLIC, ROUTES = "public_exposure", "internet_routes"

LARGEST = {4: 2**24, 6: 2 ** (128 - 32)}
"""Addresses of the largest private network, 10.0.0.0/8 (RFC 1918), and of a provider's allocation
(RIPE-738, 5.1.1): rules that together admit more addresses are open to the internet."""

EVERYWHERE = [{"CidrIp": "0.0.0.0/0", "IpProtocol": "-1"}]
"""The egress rule of a group without rules: "Amazon EC2 creates a default egress rule that allows
egress traffic on all ports and IP protocols to any location" (CloudFormation template reference,
AWS::EC2::SecurityGroup, "Remove the default rule")."""


GATEWAYS = (
    "AWS::EC2::EgressOnlyInternetGateway",
    "AWS::EC2::InternetGateway",
    "AWS::EC2::NatGateway",
    "AWS::EC2::TransitGatewayAttachment",
    "AWS::EC2::VPCGatewayAttachment",
    "AWS::EC2::VPCPeeringConnection",
)
"""Types of connections from a VPC to other networks (VPC user guide, "Connect your VPC to other
networks and accounts")."""


def security_group(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield that a group admits traffic from the internet, or allows traffic to it.

    A new group in an isolated network of the stage allows no traffic to the internet.
    """
    old, new = ((side or {}) for side in (change.before, change.after))
    if change.after is None:
        return
    for direction, rule, text in (
        ("Ingress", PUBLIC, "lets the whole internet in"),
        ("Egress", ROUTES, "lets traffic out to anywhere"),
    ):
        before, after = (_rules(change, item, direction) for item in (old, new))
        was = _is_open(before) if change.before else False
        isolated = direction == "Egress" and change.before is None and _is_isolated(change)
        if _is_open(after) and not isolated and not (was and _open(after) <= _open(before)):
            yield ChangeLine(f"the security group {text}", rule)
        elif direction == "Ingress" and not _is_open(after):
            for network in sorted(_public(after) - _public(before), key=str):
                yield ChangeLine(f"the security group lets in {network} of the internet", rule)


def route(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a route that is new or changed."""
    if change.after:
        destinations = (
            item for key, item in sorted(change.after.items()) if key.startswith("Destination")
        )
        yield ChangeLine(f"a route to {next(destinations, 'nowhere')}", ROUTES)


def vpc_endpoint(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a new endpoint to an AWS service; without a policy, it reaches all accounts."""
    if change.before is None and change.change.stack in change.comparison.before:
        policy = "" if "PolicyDocument" in change.after else ", in any account: it has no policy"
        yield ChangeLine(
            f"the network reaches {text_of(change.after['ServiceName'])}{policy}", ROUTES
        )


def _is_isolated(change: PropertyChange) -> bool:
    """Return whether a group is in a VPC of the stage without gateways and routes."""
    templates = change.comparison.sides[1].values()
    kinds = {name["Type"] for template in templates for name in template["Resources"].values()}
    own = "AWS::EC2::VPC" in kinds and not isinstance(change.after.get("VpcId"), str)
    return own and not kinds & {*GATEWAYS, "AWS::EC2::Route"}


def _rules(change: PropertyChange, properties: dict[str, Any], direction: str) -> list[Any]:
    """Return the rules of a group, or the rule that is a resource of its own."""
    if change.change.type == "AWS::EC2::SecurityGroup":
        rules = properties.get(f"SecurityGroup{direction}")
        return listed(rules) if rules else EVERYWHERE if direction == "Egress" else []
    return [properties] if change.change.type.endswith(direction) else []


def subnets(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield that instances leave the private network, or are in a single zone."""
    old, new = (", ".join(map(text_of, side or ())) for side in (change.before, change.after))
    text = f"{change.name}: {old or 'none'} -> {new or 'none'}"
    if change.before and not change.after:
        yield ChangeLine(f"the instances leave the private network: {text}", PUBLIC)
    elif change.before and len(change.after) == 1 < len(change.before):
        rule = "low_minimum" if change.comparison.production else ""
        yield ChangeLine(f"the instances are in one zone alone: {text}", rule)
    else:
        yield ChangeLine(text)


def _public(rules: list[Any]) -> set[Any]:
    """Return the public networks in rules."""
    return {network for _, networks in _networks(rules) for network in networks}


def _is_open(rules: list[Any]) -> bool:
    return any(
        sum(network.num_addresses for network in collapse_addresses(networks)) > LARGEST[version]
        for version, networks in _networks(rules)
    )


def _networks(rules: list[Any]) -> Iterator[tuple[int, Any]]:
    """Yield IP version and the public networks in rules."""
    for version, key, kind in ((4, "CidrIp", IPv4Network), (6, "CidrIpv6", IPv6Network)):
        networks = []
        for rule in rules:
            with suppress(AttributeError, ValueError):  # a function, or an invalid value
                networks.append(kind(str(rule.get(key)), strict=False))
        yield version, [network for network in networks if not network.is_private]


def _open(rules: list[Any]) -> int:
    """Return the number of rules that are open to the internet."""
    return sum(_is_open([rule]) for rule in rules) or int(_is_open(rules))
