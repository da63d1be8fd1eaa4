"""A private, encrypted bucket with access logs."""

from collections.abc import Sequence

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct


class PrivateBucket(s3.Bucket):
    """A bucket encrypted with a `key` of its own; `encrypts` says what the key is for.

    Access logs go to a bucket of their own, and are kept for 90 days. Bucket, key and logs are
    children of one construct, `construct_id`.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        encrypts: str,
        lifecycle_rules: Sequence[s3.LifecycleRule],
        removal_policy: RemovalPolicy,
    ) -> None:
        group = Construct(scope, construct_id)
        self.key = kms.Key(
            group,
            "Key",
            description=f"Encrypts {encrypts}",
            enable_key_rotation=True,
            removal_policy=removal_policy,
        )
        super().__init__(
            group,
            "Bucket",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            bucket_key_enabled=True,
            encryption=s3.BucketEncryption.KMS,
            encryption_key=self.key,
            enforce_ssl=True,
            lifecycle_rules=lifecycle_rules,
            removal_policy=removal_policy,
            server_access_logs_bucket=_access_logs(group, removal_policy),
        )


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
