"""Dangers of access between a VPC and the internet or other networks."""

from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, collapse_addresses
from typing import Any

from review.comparison import Comparison
from review.template_changes import PropertyChange
from review.values import as_list

PUBLIC_EXPOSURE, INTERNET_ROUTES = "public_exposure", "internet_routes"

MAX_PRIVATE_ADDRESSES = {4: 2**24, 6: 2 ** (128 - 32)}
"""IP version -> number of addresses above which rules are open to the internet: those of the
largest private network, 10.0.0.0/8 (RFC 1918), and of a provider's allocation (RIPE-738, 5.1.1)."""

DEFAULT_EGRESS = [{"CidrIp": "0.0.0.0/0", "IpProtocol": "-1"}]
"""The rules of a group without egress rules: "Amazon EC2 creates a default egress rule that allows
egress traffic on all ports and IP protocols to any location" (CloudFormation template reference,
AWS::EC2::SecurityGroup, "Remove the default rule")."""


def network_dangers(comparison: Comparison, change: PropertyChange) -> Iterator[tuple[str, str]]:
    """Yield rule and message of a changed security group or of changed subnets."""
    if change.path.endswith("VpcConfig.Subnets") and change.change.before:
        yield from _subnet_dangers(comparison, change)
    if change.matches(("AWS::EC2::VPCEndpoint", "ServiceName")) and comparison.is_deployed(
        change.change.stack
    ):
        yield INTERNET_ROUTES, f"the network reaches another service: {change.text}"
    is_group = change.change.type == "AWS::EC2::SecurityGroup"
    if is_group and change.path.startswith("SecurityGroup"):
        yield from _group_dangers(change)


def _group_dangers(change: PropertyChange) -> Iterator[tuple[str, str]]:
    """Yield that a group admits public networks, or newly allows egress to anywhere.

    Groups in an isolated VPC have no egress, whatever their rules: a new group may allow it.
    """
    ingress = change.path.startswith("SecurityGroupIngress")
    key = "SecurityGroupIngress" if ingress else "SecurityGroupEgress"
    default = [] if ingress else DEFAULT_EGRESS
    before, after = (
        as_list(side.get("Properties", {}).get(key) or default) if side else []
        for side in (change.change.before, change.change.after)
    )
    if ingress:
        for network in sorted(_public_networks(after) - _public_networks(before), key=str):
            yield PUBLIC_EXPOSURE, f"the security group admits the public network {network}"
    elif change.change.before and _is_open(after):
        known = _public_ports(before) if _is_open(before) else set()
        if "all ports" not in known and (ports := sorted(_public_ports(after) - known)):
            text = f"the security group allows egress to anywhere: {', '.join(ports)}"
            yield INTERNET_ROUTES, text


def _subnet_dangers(comparison: Comparison, change: PropertyChange) -> Iterator[tuple[str, str]]:
    if change.before and not change.after:
        yield PUBLIC_EXPOSURE, f"the instances leave the private network: {change.text}"
    elif change.before and len(change.after) == 1 < len(change.before):
        if comparison.is_production:
            yield "low_availability", f"the instances are in a single zone: {change.text}"
    elif change.before and any(isinstance(side, str) for side in change.after):
        # Subnets of `existing` in a stage's file, which no owner reviews.
        yield INTERNET_ROUTES, f"the instances are in other existing subnets: {change.text}"


def _public_networks(rules: list[Any]) -> set[Any]:
    return {network for _, networks in _networks_by_version(rules) for network in networks}


def _public_ports(rules: list[Any]) -> set[str]:
    """Return the protocols and ports of the rules with a public network."""
    return {
        "all ports"
        if str(rule.get("IpProtocol")) == "-1"
        else f"{rule.get('IpProtocol')} {rule.get('FromPort')}-{rule.get('ToPort')}"
        for rule in rules
        if isinstance(rule, dict) and _public_networks([rule])
    }


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
