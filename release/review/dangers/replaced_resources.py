"""Resources that CloudFormation replaces or deletes."""

from collections.abc import Iterator

from release.review.comparison import Comparison
from release.review.dangers.danger import Danger

NORMAL = ("AWS::SageMaker::Model", "AWS::SageMaker::EndpointConfig")
"""Immutable types: every update replaces them, and they hold no data."""

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
"""Types that hold data, or whose address others use."""

FATES = {"WILL_DESTROY": "deleted", "WILL_ORPHAN": "removed from the stack, and stays"}
"""The CDK's impact on a resource that leaves its template -> our words."""

ELSEWHERE = (
    "AWS::ApplicationAutoScaling::ScalingPolicy",
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::IAM::Policy",
    "AWS::SNS::Subscription",
    "AWS::SSM::Parameter",
    "AWS::SageMaker::Endpoint",
)
"""Types without data, whose properties are compared, or that other rules report."""


def replaced_resources(comparison: Comparison) -> Iterator[Danger]:
    """A resource other than a Model or an EndpointConfig is replaced, or a stateful one deleted.

    The replacements of a stack are one danger: a resource is often replaced because it refers to
    another one.
    """
    for change in comparison.deployed_changes:
        if change.type in NORMAL or change.type in ELSEWHERE:
            continue
        subject = f"{change.stack}.{change.path}"
        if change.impact == "WILL_REPLACE":
            because = ", ".join(change.properties)
            message = f"{change.type} {change.path} is replaced ({because} changes)"
            yield Danger(subject, message, group=change.stack)
        elif change.type in STATEFUL and change.impact in FATES:
            yield Danger(subject, f"{change.type} {change.path} is {FATES[change.impact]}")
