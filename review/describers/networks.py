"""Describers of access between a VPC and the internet or other networks."""

from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, collapse_addresses
from typing import Any

from review.property_change import ChangeLine, PropertyChange
from review.values import as_list, format_value

PUBLIC_EXPOSURE, INTERNET_ROUTES = "public_exposure", "internet_routes"

MAX_PRIVATE_ADDRESSES = {4: 2**24, 6: 2 ** (128 - 32)}
"""IP version -> number of addresses above which rules are open to the internet: those of the
largest private network, 10.0.0.0/8 (RFC 1918), and of a provider's allocation (RIPE-738, 5.1.1)."""

DEFAULT_EGRESS = [{"CidrIp": "0.0.0.0/0", "IpProtocol": "-1"}]
"""The rules of a group without egress rules: "Amazon EC2 creates a default egress rule that allows
egress traffic on all ports and IP protocols to any location" (CloudFormation template reference,
AWS::EC2::SecurityGroup, "Remove the default rule")."""

GATEWAY_TYPES = (
    "AWS::EC2::EgressOnlyInternetGateway",
    "AWS::EC2::InternetGateway",
    "AWS::EC2::NatGateway",
    "AWS::EC2::TransitGatewayAttachment",
    "AWS::EC2::VPCGatewayAttachment",
    "AWS::EC2::VPCPeeringConnection",
)
"""Types of connections from a VPC to other networks (VPC user guide, "Connect your VPC to other
networks and accounts")."""


def describe_security_group(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield that a group admits traffic from the internet, or allows traffic to the internet.

    Egress rules of a new group in an isolated VPC of the stage have no effect.
    """
    old, new = ((side or {}) for side in (change.before, change.after))
    if change.after is None:
        return
    for direction, rule, text in (
        ("Ingress", PUBLIC_EXPOSURE, "admits the whole internet"),
        ("Egress", INTERNET_ROUTES, "allows egress to anywhere"),
    ):
        old_rules, new_rules = (_rules(change, side, direction) for side in (old, new))
        was_open = bool(change.before) and _is_open(old_rules)
        is_isolated = direction == "Egress" and change.before is None and _is_isolated(change)
        is_wider = not was_open or _count_open(new_rules) > _count_open(old_rules)
        if _is_open(new_rules) and is_wider and not is_isolated:
            yield ChangeLine(f"the security group {text}", rule)
        elif direction == "Ingress" and not _is_open(new_rules):
            new_networks = _public_networks(new_rules) - _public_networks(old_rules)
            for network in sorted(new_networks, key=str):
                yield ChangeLine(f"the security group admits the public network {network}", rule)


def describe_route(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a new or changed route."""
    if change.after:
        destinations = (
            value for key, value in sorted(change.after.items()) if key.startswith("Destination")
        )
        text = f"a route to {next(destinations, 'a destination that is not named')}"
        yield ChangeLine(text, INTERNET_ROUTES)


def describe_vpc_endpoint(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a new VPC endpoint; without a policy, the endpoint gives access to all accounts."""
    if change.before is None and change.resource_change.stack in change.comparison.before:
        accounts = "" if "PolicyDocument" in change.after else ", in any account: it has no policy"
        text = f"the network reaches {format_value(change.after['ServiceName'])}{accounts}"
        yield ChangeLine(text, INTERNET_ROUTES)


def _is_isolated(change: PropertyChange) -> bool:
    """Return whether a group is in a VPC of the stage without gateways and routes."""
    types = {
        resource["Type"]
        for template in change.comparison.templates[1].values()
        for resource in template["Resources"].values()
    }
    has_own_vpc = "AWS::EC2::VPC" in types and not isinstance(change.after.get("VpcId"), str)
    return has_own_vpc and not types & {*GATEWAY_TYPES, "AWS::EC2::Route"}


def _rules(change: PropertyChange, properties: dict[str, Any], direction: str) -> list[Any]:
    """Return the rules of a security group; a separate rule resource is its own only rule."""
    if change.resource_change.type == "AWS::EC2::SecurityGroup":
        rules = properties.get(f"SecurityGroup{direction}")
        return as_list(rules) if rules else DEFAULT_EGRESS if direction == "Egress" else []
    return [properties] if change.resource_change.type.endswith(direction) else []


def describe_subnets(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield changed subnets; none, other existing ones, or one in production, are a danger."""
    old, new = (", ".join(map(format_value, side or ())) for side in (change.before, change.after))
    text = f"{change.name}: {old or 'none'} -> {new or 'none'}"
    if change.before and not change.after:
        yield ChangeLine(f"the instances leave the private network: {text}", PUBLIC_EXPOSURE)
    elif change.before and len(change.after) == 1 < len(change.before):
        rule = "low_availability" if change.comparison.is_production else ""
        yield ChangeLine(f"the instances are in a single zone: {text}", rule)
    elif change.before and any(isinstance(side, str) for side in change.after):
        # Subnets of `existing` in a stage's file, which no owner reviews.
        yield ChangeLine(f"the instances are in other existing subnets: {text}", INTERNET_ROUTES)
    else:
        yield ChangeLine(text)


def _public_networks(rules: list[Any]) -> set[Any]:
    return {network for _, networks in _networks_by_version(rules) for network in networks}


def _is_open(rules: list[Any]) -> bool:
    """Return whether the rules together are open to the internet."""
    return any(
        sum(network.num_addresses for network in collapse_addresses(networks))
        > MAX_PRIVATE_ADDRESSES[version]
        for version, networks in _networks_by_version(rules)
    )


def _networks_by_version(rules: list[Any]) -> Iterator[tuple[int, Any]]:
    """Yield each IP version with the public networks in the rules."""
    for version, key, network_class in ((4, "CidrIp", IPv4Network), (6, "CidrIpv6", IPv6Network)):
        networks = []
        for rule in rules:
            with suppress(AttributeError, ValueError):  # an intrinsic function or invalid value
                networks.append(network_class(str(rule.get(key)), strict=False))
        yield version, [network for network in networks if not network.is_private]


def _count_open(rules: list[Any]) -> int:
    """Return the number of open rules, or 1 if the rules are open only together."""
    return sum(_is_open([rule]) for rule in rules) or int(_is_open(rules))
