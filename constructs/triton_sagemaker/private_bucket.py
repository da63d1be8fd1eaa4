"""A bucket that is read by nobody who was not let in, and who read what from it."""

from collections.abc import Sequence

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct


def private_bucket(
    scope: Construct,
    *,
    encrypts: str,
    lifecycle_rules: Sequence[s3.LifecycleRule],
    removal_policy: RemovalPolicy,
) -> tuple[kms.Key, s3.Bucket]:
    """Return a key and a bucket encrypted with it; `encrypts` says of the key what it is for.

    Access logs go to a bucket of their own, and are kept for 90 days.
    """
    key = kms.Key(
        scope,
        "Key",
        description=f"Encrypts {encrypts}",
        enable_key_rotation=True,
        removal_policy=removal_policy,
    )
    bucket = s3.Bucket(
        scope,
        "Bucket",
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        bucket_key_enabled=True,
        encryption=s3.BucketEncryption.KMS,
        encryption_key=key,
        enforce_ssl=True,
        lifecycle_rules=lifecycle_rules,
        removal_policy=removal_policy,
        server_access_logs_bucket=_access_logs(scope, removal_policy),
    )
    scope.node.default_child = bucket.node.default_child
    return key, bucket


def _access_logs(scope: Construct, removal_policy: RemovalPolicy) -> s3.Bucket:
    return s3.Bucket(
        scope,
        "AccessLogs",
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        encryption=s3.BucketEncryption.S3_MANAGED,
        enforce_ssl=True,
        lifecycle_rules=[s3.LifecycleRule(expiration=Duration.days(90))],
        removal_policy=removal_policy,
    )
