"""Where recorded requests are kept."""

from collections.abc import Mapping

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from triton_sagemaker.access_logs import access_logs
from triton_sagemaker.argument_types import typed


@typed
class CaptureBucket(Construct):
    """An S3 bucket for what `DataCapture` records, encrypted with a key of its own.

    Not the bucket of archives: whatever builds models may read that one. `keep` says for each
    prefix after how long a record is deleted; what is below none, of endpoints that record no
    longer, goes with the longest of them. Bucket and key outlive
    the stack by default; `removal_policy` is theirs and that of the access logs.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        keep: Mapping[str, Duration],
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
    ) -> None:
        super().__init__(scope, construct_id)
        longest = max(it.to_days() for it in keep.values())
        self.key = kms.Key(
            self,
            "Key",
            description="Encrypts recorded requests",
            enable_key_rotation=True,
            removal_policy=removal_policy,
        )
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            bucket_key_enabled=True,
            encryption=s3.BucketEncryption.KMS,
            encryption_key=self.key,
            enforce_ssl=True,
            lifecycle_rules=[
                s3.LifecycleRule(
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                    expiration=Duration.days(longest),
                ),
                *(
                    s3.LifecycleRule(expiration=it, prefix=prefix)
                    for prefix, it in keep.items()
                    if it.to_days() < longest  # of two rules, S3 goes by the shorter
                ),
            ],
            removal_policy=removal_policy,
            server_access_logs_bucket=access_logs(self, removal_policy),
        )
        self.node.default_child = self.bucket.node.default_child
