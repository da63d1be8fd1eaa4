"""What CloudFormation replaces or deletes."""

from collections.abc import Iterator

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

_ELSEWHERE = ("AWS::SageMaker::Endpoint", "AWS::SSM::Parameter")
"""Types that other rules report, as endpoints and models."""


def replaced_resources(comparison: Comparison) -> Iterator[Found]:
    """Anything but a Model or an EndpointConfig is replaced; something stateful is deleted.

    Or it no longer outlives its stack. Stacks that leave the app are not touched by a deploy.
    """
    for change in comparison.deployed_changes:
        if change.type in NORMAL or change.type in _ELSEWHERE:
            continue
        subject = f"{change.stack}.{change.path}"
        if change.impact == "WILL_REPLACE":
            because = ", ".join(change.properties)
            said = f"{change.type} {change.path} is replaced ({because} changes)"
            yield Found(subject, said)
        elif change.type in STATEFUL and change.impact in ("WILL_DESTROY", "WILL_ORPHAN"):
            yield Found(subject, f"{change.type} {change.path} is {_fate(change)}")
        elif change.after and _lost_retain(change):
            yield Found(subject, f"{change.type} {change.path} no longer outlives its stack")


def _lost_retain(change: Change) -> bool:
    policies = ("DeletionPolicy", "UpdateReplacePolicy")
    return any(
        change.before.get(it) == "Retain" and change.after.get(it) != "Retain" for it in policies
    )


def _fate(change: Change) -> str:
    if change.impact == "WILL_ORPHAN":
        return "removed from the stack, and stays"
    return "deleted"
