"""Resources that CloudFormation replaces or deletes."""

from collections.abc import Iterator

from review.comparison import Comparison
from review.dangers.danger import Danger

IMMUTABLE_TYPES = ("AWS::SageMaker::Model", "AWS::SageMaker::EndpointConfig")
"""Types that every update replaces; they contain no data."""

STATEFUL_TYPES = (
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
"""Types with data, or with an address that other resources use."""

REMOVALS = {"WILL_DESTROY": "deleted", "WILL_ORPHAN": "removed from the stack, but not deleted"}
"""The CDK's impact on a resource removed from its template -> participle in the message."""

EXEMPT_TYPES = (
    "AWS::ApplicationAutoScaling::ScalingPolicy",
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::IAM::Policy",
    "AWS::SNS::Subscription",
    "AWS::SSM::Parameter",
    "AWS::SageMaker::Endpoint",
)
"""Types without data whose replacement other rules report, or whose properties are compared."""


def replaced_resources(comparison: Comparison) -> Iterator[Danger]:
    """A resource other than a Model or an EndpointConfig is replaced, or a stateful one deleted.

    The replacements of a stack are one danger: a resource is often replaced because it refers to
    another replaced resource.
    """
    for change in comparison.deployed_changes:
        if change.type in IMMUTABLE_TYPES or change.type in EXEMPT_TYPES:
            continue
        subject = f"{change.stack}.{change.path}"
        if change.impact == "WILL_REPLACE":
            properties = ", ".join(change.properties)
            message = f"{change.type} {change.path} is replaced ({properties} changes)"
            yield Danger(subject, message, group=change.stack)
        elif change.type in STATEFUL_TYPES and change.impact in REMOVALS:
            yield Danger(subject, f"{change.type} {change.path} is {REMOVALS[change.impact]}")
