"""Ways between a network and the internet, or other networks."""

from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, collapse_addresses
from typing import Any

from release.review.property_change import ChangeLine, PropertyChange
from release.review.values import listed, text_of

PUBLIC, ROUTES = "public_exposure", "internet_routes"

LARGEST = {4: 2**24, 6: 2 ** (128 - 32)}
"""Addresses of the largest private network, 10.0.0.0/8 (RFC 1918), and of what a provider is
assigned (RIPE-738, 5.1.1): rules that let more in, together, are for the internet."""

EVERYWHERE = [{"CidrIp": "0.0.0.0/0", "IpProtocol": "-1"}]
"""The rule of a group that names none: "Amazon EC2 creates a default egress rule that allows egress
traffic on all ports and IP protocols to any location" (CloudFormation template reference,
AWS::EC2::SecurityGroup, "Remove the default rule")."""


GATEWAYS = (
    "AWS::EC2::EgressOnlyInternetGateway",
    "AWS::EC2::InternetGateway",
    "AWS::EC2::NatGateway",
    "AWS::EC2::TransitGatewayAttachment",
    "AWS::EC2::VPCGatewayAttachment",
    "AWS::EC2::VPCPeeringConnection",
)
"""What a VPC reaches other networks through (VPC user guide, "Connect your VPC to other networks
and accounts")."""


def security_group(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield that a group lets the internet in, or a part of it, or lets traffic out to it.

    A new group in a network of the stage without any way out lets nothing out.
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
    """Yield a route that is new, or another."""
    if change.after:
        destinations = (
            item for key, item in sorted(change.after.items()) if key.startswith("Destination")
        )
        yield ChangeLine(f"a route to {next(destinations, 'nowhere')}", ROUTES)


def vpc_endpoint(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a service that a network reaches, and did not; without a policy it is all of it."""
    if change.before is None and change.change.stack in change.comparison.before:
        policy = "" if "PolicyDocument" in change.after else ", in any account: it has no policy"
        yield ChangeLine(
            f"the network reaches {text_of(change.after['ServiceName'])}{policy}", ROUTES
        )


def _is_isolated(change: PropertyChange) -> bool:
    """Whether a group is in a VPC of the stage, which has neither a gateway nor a route."""
    templates = change.comparison.sides[1].values()
    kinds = {name["Type"] for template in templates for name in template["Resources"].values()}
    own = "AWS::EC2::VPC" in kinds and not isinstance(change.after.get("VpcId"), str)
    return own and not kinds & {*GATEWAYS, "AWS::EC2::Route"}


def _rules(change: PropertyChange, properties: dict[str, Any], direction: str) -> list[Any]:
    """Return the rules of a group, or of one that is a resource of its own."""
    if change.change.type == "AWS::EC2::SecurityGroup":
        rules = properties.get(f"SecurityGroup{direction}")
        return listed(rules) if rules else EVERYWHERE if direction == "Egress" else []
    return [properties] if change.change.type.endswith(direction) else []


def subnets(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield that instances leave the private network, or that a zone that fails stops them all."""
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
    """Return the networks in rules that are of the internet."""
    return {network for _, networks in _networks(rules) for network in networks}


def _is_open(rules: list[Any]) -> bool:
    return any(
        sum(network.num_addresses for network in collapse_addresses(networks)) > LARGEST[version]
        for version, networks in _networks(rules)
    )


def _networks(rules: list[Any]) -> Iterator[tuple[int, Any]]:
    """Yield the networks that rules name, of each version of IP, but for private ones."""
    for version, key, kind in ((4, "CidrIp", IPv4Network), (6, "CidrIpv6", IPv6Network)):
        networks = []
        for rule in rules:
            with suppress(AttributeError, ValueError):  # a function, or what EC2 refuses
                networks.append(kind(str(rule.get(key)), strict=False))
        yield version, [network for network in networks if not network.is_private]


def _open(rules: list[Any]) -> int:
    """Return for how many protocols and ports rules name large networks."""
    return sum(_is_open([rule]) for rule in rules) or int(_is_open(rules))
