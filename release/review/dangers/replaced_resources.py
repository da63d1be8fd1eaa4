"""What CloudFormation replaces or deletes."""

from collections.abc import Iterator

from release.review.comparison import Comparison
from release.review.dangers.danger import Danger

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

FATES = {"WILL_DESTROY": "deleted", "WILL_ORPHAN": "removed from the stack, and stays"}
"""The CDK's word for what becomes of a resource that leaves its template -> ours."""

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
"""Types that hold nothing, so that their properties say it all, or that other rules report."""


def replaced_resources(comparison: Comparison) -> Iterator[Danger]:
    """Anything but a Model or an EndpointConfig is replaced; something stateful is deleted.

    What a stack replaces is one danger: one resource is often replaced since it names another.
    Stacks that leave the app are not touched by a deploy.
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
