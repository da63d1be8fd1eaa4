"""Describers of access between a VPC and the internet or other networks."""

from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, collapse_addresses
from typing import Any

from release.review.property_change import ChangeLine, PropertyChange
from release.review.values import as_list, format_value

PUBLIC, ROUTES = "public_exposure", "internet_routes"

MAX_PRIVATE_ADDRESSES = {4: 2**24, 6: 2 ** (128 - 32)}
"""IP version -> addresses of the largest private network, 10.0.0.0/8 (RFC 1918), or of a provider's
allocation (RIPE-738, 5.1.1). Rules for more addresses in total are open to the internet."""

EVERYWHERE = [{"CidrIp": "0.0.0.0/0", "IpProtocol": "-1"}]
"""The egress rule of a group without any: "Amazon EC2 creates a default egress rule that allows
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

    Egress rules of a new group in an isolated VPC of the stage have no effect.
    """
    old, new = ((side or {}) for side in (change.before, change.after))
    if change.after is None:
        return
    for direction, rule, text in (
        ("Ingress", PUBLIC, "admits the whole internet"),
        ("Egress", ROUTES, "allows egress to anywhere"),
    ):
        before, after = (_rules(change, side, direction) for side in (old, new))
        was_open = bool(change.before) and _is_open(before)
        isolated = direction == "Egress" and change.before is None and _is_isolated(change)
        no_wider = was_open and _count_open(after) <= _count_open(before)
        if _is_open(after) and not isolated and not no_wider:
            yield ChangeLine(f"the security group {text}", rule)
        elif direction == "Ingress" and not _is_open(after):
            for network in sorted(_public(after) - _public(before), key=str):
                yield ChangeLine(f"the security group admits the public network {network}", rule)


def route(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a new or changed route."""
    if change.after:
        destinations = (
            item for key, item in sorted(change.after.items()) if key.startswith("Destination")
        )
        yield ChangeLine(f"a route to {next(destinations, 'nowhere')}", ROUTES)


def vpc_endpoint(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a new VPC endpoint; without a policy, it gives access to all accounts."""
    if change.before is None and change.change.stack in change.comparison.before:
        policy = "" if "PolicyDocument" in change.after else ", in any account: it has no policy"
        yield ChangeLine(
            f"the network reaches {format_value(change.after['ServiceName'])}{policy}", ROUTES
        )


def _is_isolated(change: PropertyChange) -> bool:
    """Return whether a group is in a VPC of the stage without gateways and routes."""
    templates = change.comparison.templates[1].values()
    kinds = {name["Type"] for template in templates for name in template["Resources"].values()}
    own = "AWS::EC2::VPC" in kinds and not isinstance(change.after.get("VpcId"), str)
    return own and not kinds & {*GATEWAYS, "AWS::EC2::Route"}


def _rules(change: PropertyChange, properties: dict[str, Any], direction: str) -> list[Any]:
    """Return the rules of a group, or the rule if it is a separate resource."""
    if change.change.type == "AWS::EC2::SecurityGroup":
        rules = properties.get(f"SecurityGroup{direction}")
        return as_list(rules) if rules else EVERYWHERE if direction == "Egress" else []
    return [properties] if change.change.type.endswith(direction) else []


def subnets(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield changed subnets; no subnets, or a single zone in production, is a danger."""
    old, new = (", ".join(map(format_value, side or ())) for side in (change.before, change.after))
    text = f"{change.name}: {old or 'none'} -> {new or 'none'}"
    if change.before and not change.after:
        yield ChangeLine(f"the instances leave the private network: {text}", PUBLIC)
    elif change.before and len(change.after) == 1 < len(change.before):
        rule = "low_minimum" if change.comparison.production else ""
        yield ChangeLine(f"the instances are in a single zone: {text}", rule)
    else:
        yield ChangeLine(text)


def _public(rules: list[Any]) -> set[Any]:
    """Return the public networks in the rules."""
    return {network for _, networks in _networks(rules) for network in networks}


def _is_open(rules: list[Any]) -> bool:
    return any(
        sum(network.num_addresses for network in collapse_addresses(networks))
        > MAX_PRIVATE_ADDRESSES[version]
        for version, networks in _networks(rules)
    )


def _networks(rules: list[Any]) -> Iterator[tuple[int, Any]]:
    """Yield each IP version with the public networks in the rules."""
    for version, key, kind in ((4, "CidrIp", IPv4Network), (6, "CidrIpv6", IPv6Network)):
        networks = []
        for rule in rules:
            with suppress(AttributeError, ValueError):  # a function, or an invalid value
                networks.append(kind(str(rule.get(key)), strict=False))
        yield version, [network for network in networks if not network.is_private]


def _count_open(rules: list[Any]) -> int:
    """Return the number of rules that are open to the internet."""
    return sum(_is_open([rule]) for rule in rules) or int(_is_open(rules))
