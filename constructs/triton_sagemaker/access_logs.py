"""Who read what from a bucket."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_s3 as s3
from constructs import Construct


def access_logs(scope: Construct, removal_policy: RemovalPolicy) -> s3.Bucket:
    """Return a bucket for the access logs of another, which are kept for 90 days."""
    return s3.Bucket(
        scope,
        "AccessLogs",
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        encryption=s3.BucketEncryption.S3_MANAGED,
        enforce_ssl=True,
        lifecycle_rules=[s3.LifecycleRule(expiration=Duration.days(90))],
        removal_policy=removal_policy,
    )
