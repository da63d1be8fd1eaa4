"""What the internet can reach, and could not before."""

from collections.abc import Iterator
from typing import Any

from release.review.comparison import Comparison
from release.review.differences import Change
from release.review.grants import ANYONE, in_words

_ANYWHERE = ("0.0.0.0/0", "::/0")
_GROUPS = ("AWS::EC2::SecurityGroup", "AWS::EC2::SecurityGroupIngress")


def public_exposure(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Anyone is let in by a policy, a bucket's block, a security group; or a network is left."""
    for it in comparison.gained:
        for grant in sorted(it.by_known | it.by_new):
            if grant.who == ANYONE:
                yield f"{it.stack}.{grant.resource}", in_words({grant})[0]
    for change in comparison.changes:
        subject = f"{change.stack}.{change.path}"
        before, after = (it.get("Properties", {}) for it in (change.before, change.after))
        if change.type == "AWS::S3::Bucket" and change.after:
            for name in _opened(before, after):
                yield subject, f"the bucket {change.path} no longer has {name}"
        if change.type in _GROUPS and _open_rules(after) > _open_rules(before):
            yield subject, f"the security group {change.path} lets the whole internet in"
        if change.type == "AWS::SageMaker::Model" and _left_network(change):
            yield subject, f"the instances of {change.path} leave the private network"


def _opened(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    blocked = [it.get("PublicAccessBlockConfiguration", {}) for it in (before, after)]
    return sorted(name for name, on in blocked[0].items() if on and not blocked[1].get(name))


def _open_rules(properties: dict[str, Any]) -> int:
    listed = properties.get("SecurityGroupIngress", [])
    rules = [*(listed if isinstance(listed, list) else [listed]), properties]
    ranges = [it.get(key) for it in rules for key in ("CidrIp", "CidrIpv6")]
    return sum(it in _ANYWHERE for it in ranges)


def _left_network(change: Change) -> bool:
    before, after = (it.get("Properties", {}) for it in (change.before, change.after))
    return "VpcConfig" in before and bool(change.after) and "VpcConfig" not in after
