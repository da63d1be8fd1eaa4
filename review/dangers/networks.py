"""Dangers of access between a VPC and the internet or other networks."""

from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_network
from typing import Any

from review.comparison import Comparison
from review.remark import Remark
from review.template_changes import PropertyChange
from review.values import as_list

PUBLIC_EXPOSURE, INTERNET_ROUTES = "public_exposure", "internet_routes"

ALL_PORTS = "all ports"
DEFAULT_EGRESS = [{"CidrIp": "0.0.0.0/0", "IpProtocol": "-1"}]
"""The rules of a group without egress rules: "Amazon EC2 creates a default egress rule that allows
egress traffic on all ports and IP protocols to any location" (CloudFormation template reference,
AWS::EC2::SecurityGroup, "Remove the default rule")."""


def network_dangers(comparison: Comparison, change: PropertyChange) -> Iterator[Remark]:
    """Yield the dangers of a changed security group or of changed subnets."""
    if change.path.endswith("VpcConfig.Subnets") and change.resource.before:
        yield from _subnet_dangers(comparison, change)
    if change.matches(("AWS::EC2::VPCEndpoint", "ServiceName")) and comparison.is_deployed(
        change.resource.stack
    ):
        yield Remark(INTERNET_ROUTES, f"the network reaches another service: {change.text}")
    is_group = change.resource.type == "AWS::EC2::SecurityGroup"
    if is_group and change.path.startswith("SecurityGroup"):
        yield from _group_dangers(change)


def _group_dangers(change: PropertyChange) -> Iterator[Remark]:
    """Yield that a group admits public networks, or newly allows egress to anywhere.

    Groups in an isolated VPC have no egress, whatever their rules: a new group may allow it.
    """
    ingress = change.path.startswith("SecurityGroupIngress")
    key = "SecurityGroupIngress" if ingress else "SecurityGroupEgress"
    default = [] if ingress else DEFAULT_EGRESS
    before, after = (
        as_list(side.get("Properties", {}).get(key) or default) if side else []
        for side in (change.resource.before, change.resource.after)
    )
    known = _public_rules(before)
    for network, ports in sorted(_public_rules(after) - known, key=str):
        if ingress and network not in dict(known):
            yield Remark(PUBLIC_EXPOSURE, f"admits the public network {network}: {ports}")
        elif not ingress and change.resource.before and (network, ALL_PORTS) not in known:
            place = network if network.prefixlen else "anywhere"
            yield Remark(INTERNET_ROUTES, f"the security group allows egress to {place}: {ports}")


def _subnet_dangers(comparison: Comparison, change: PropertyChange) -> Iterator[Remark]:
    if change.before and not change.after:
        yield Remark(PUBLIC_EXPOSURE, f"the instances leave the private network: {change.text}")
    elif sorted(map(repr, change.before or ())) == sorted(map(repr, change.after)):
        return  # in another order
    elif change.before and len(change.after) == 1 < len(change.before):
        if comparison.is_production:
            yield Remark("low_availability", f"the instances are in a single zone: {change.text}")
    elif change.before and any(isinstance(side, str) for side in change.after):
        # Subnets of `existing` in a stage's file, which no owner reviews.
        text = f"the instances are in other existing subnets: {change.text}"
        yield Remark(INTERNET_ROUTES, text)


def _public_rules(rules: list[Any]) -> set[tuple[Any, str]]:
    """Return the public networks in rules, with protocol and ports."""
    public = set()
    for rule in filter(lambda rule: isinstance(rule, dict), rules):
        protocol = str(rule.get("IpProtocol"))
        ports = f"{protocol} {rule.get('FromPort')}-{rule.get('ToPort')}"
        for key in ("CidrIp", "CidrIpv6"):
            with suppress(ValueError):  # an intrinsic function or invalid value
                network = ip_network(str(rule.get(key)), strict=False)
                if not network.is_private:
                    public.add((network, ALL_PORTS if protocol == "-1" else ports))
    return public
