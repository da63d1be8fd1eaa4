"""A private, encrypted bucket with access logs."""

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from triton_sagemaker.problems import reject_plain_values


class PrivateBucket(s3.Bucket):
    """A bucket encrypted with `encryption_key`, by default a new one.

    `content` describes the objects. Access logs are kept for 90 days in a second bucket. Buckets
    and key are children of one construct, `construct_id`. They are retained when the stack is
    deleted, the CDK's default.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        content: str,
        lifecycle_rules: Sequence[s3.LifecycleRule],
        encryption_key: kms.IKey | None = None,
    ) -> None:
        reject_plain_values(encryption_key=encryption_key)
        group = Construct(scope, construct_id)
        self.key = encryption_key or kms.Key(
            group, "Key", description=f"Encrypts {content}", enable_key_rotation=True
        )
        access_logs = s3.Bucket(
            group,
            "AccessLogs",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            lifecycle_rules=[s3.LifecycleRule(expiration=Duration.days(90))],
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
            server_access_logs_bucket=access_logs,
        )
