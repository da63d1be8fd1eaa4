"""What the internet can reach, and could not before."""

from collections.abc import Iterator
from typing import Any

from release.review.comparison import Comparison
from release.review.dangers.found import Found, digest
from release.review.differences import Change
from release.review.grants import ANYONE, in_words

ANYWHERE = ("0.0.0.0/0", "::/0")
_GROUPS = ("AWS::EC2::SecurityGroup", "AWS::EC2::SecurityGroupIngress")


def public_exposure(comparison: Comparison) -> Iterator[Found]:
    """Anyone is let in by a policy, a bucket's block, a security group; or a network is left."""
    for it in comparison.gained:
        public = {grant for grant in it.by_known | it.by_new if grant.who == ANYONE}
        for resource in sorted({grant.resource for grant in public}):
            subject = f"{it.stack}.{resource}"
            for said in in_words({grant for grant in public if grant.resource == resource}):
                heading = f"anyone may do {{count}} things on {resource}"
                yield Found(f"{subject}.{digest(said)}", said, subject, heading)
    for change in comparison.changes:
        subject = f"{change.stack}.{change.path}"
        before, after = (it.get("Properties", {}) for it in (change.before, change.after))
        if change.type == "AWS::S3::Bucket" and change.after:
            for name in _opened(before, after):
                said = f"the bucket {change.path} no longer has {name}"
                heading = (
                    f"the bucket {change.path} no longer blocks public access ({{count}} of 4)"
                )
                yield Found(f"{subject}.{name}", said, subject, heading)
        if change.type in _GROUPS and _open_rules(after) > _open_rules(before):
            yield Found(subject, f"the security group {change.path} lets the whole internet in")
        if change.type == "AWS::SageMaker::Model" and _left_network(change):
            said = f"the instances of {change.path} leave the private network"
            heading = "the instances of {count} models leave the private network"
            yield Found(subject, f"{change.stack}: {said}", comparison.stage, heading)


def _opened(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    blocked = [it.get("PublicAccessBlockConfiguration", {}) for it in (before, after)]
    return sorted(name for name, on in blocked[0].items() if on and not blocked[1].get(name))


def _open_rules(properties: dict[str, Any]) -> int:
    listed = properties.get("SecurityGroupIngress", [])
    rules = [*(listed if isinstance(listed, list) else [listed]), properties]
    ranges = [it.get(key) for it in rules for key in ("CidrIp", "CidrIpv6")]
    return sum(it in ANYWHERE for it in ranges)


def _left_network(change: Change) -> bool:
    before, after = (it.get("Properties", {}) for it in (change.before, change.after))
    return "VpcConfig" in before and bool(change.after) and "VpcConfig" not in after
