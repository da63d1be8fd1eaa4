"""What CloudFormation replaces or deletes."""

from collections.abc import Callable, Iterator
from typing import Any

from release.review.comparison import Comparison
from release.review.dangers.found import Found
from release.review.differences import Change

NORMAL = ("AWS::SageMaker::Model", "AWS::SageMaker::EndpointConfig")
"""SageMaker cannot change these: every update replaces them, and they hold nothing."""

STATEFUL = (
    "AWS::S3::Bucket",
    "AWS::KMS::Key",
    "AWS::Logs::LogGroup",
    "AWS::S3::BucketPolicy",
    "AWS::EC2::VPC",
    "AWS::EC2::Subnet",
    "AWS::EC2::VPCEndpoint",
    "AWS::IAM::OIDCProvider",
    "AWS::SNS::Topic",
)
"""What holds data, or is known to others by an address of its own."""

ELSEWHERE = ("AWS::SageMaker::Endpoint", "AWS::SSM::Parameter")
"""Types that other rules report, as endpoints and models."""


def replaced_resources(comparison: Comparison) -> Iterator[Found]:
    """Anything but a Model or an EndpointConfig is replaced; something stateful is deleted.

    Stacks that leave the app are not touched by a deploy.
    """
    for change in comparison.deployed_changes:
        if change.type in NORMAL or change.type in ELSEWHERE:
            continue
        subject = f"{change.stack}.{change.path}"
        if change.impact == "WILL_REPLACE":
            because = ", ".join(change.properties)
            said = f"{change.type} {change.path} is replaced ({because} changes)"
            yield Found(subject, said, explains=_follows(change, comparison.deployed_changes))
        elif change.type in STATEFUL and change.impact in ("WILL_DESTROY", "WILL_ORPHAN"):
            yield Found(subject, f"{change.type} {change.path} is {_fate(change)}")


def _follows(replaced: Change, changes: list[Change]) -> Callable[[str, str], bool]:
    """Return what tells what is replaced only since it names what is."""
    following = {
        f"{it.stack}.{it.path}"
        for it in changes
        if (it.stack, it.impact) == (replaced.stack, "WILL_REPLACE")
        and it.id != replaced.id
        and it.properties
        and all(_names(it.after["Properties"].get(key), replaced.id) for key in it.properties)
    }
    return lambda rule, subject: rule == "replaced_resources" and subject in following


def _names(value: Any, logical_id: str) -> bool:
    match value:
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), *_]}:
            return name == logical_id
    return False


def _fate(change: Change) -> str:
    if change.impact == "WILL_ORPHAN":
        return "removed from the stack, and stays"
    return "deleted"
