"""Where model archives are kept."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from triton_sagemaker.access_logs import access_logs
from triton_sagemaker.argument_types import typed

ENGINE_JOBS = "engine-jobs/"
"""Where the jobs of engine builds are kept, each with what its builds left, below its hash."""


@typed
class ModelBucket(Construct):
    """An S3 bucket for model archives, encrypted with a key of its own.

    Archives are named by their content and never overwritten, so there is nothing to version. Jobs
    of engine builds go after a month: an engine that passed its gate is kept elsewhere.
    Bucket and key outlive the stack by default: running endpoints read from them at any time.
    `removal_policy` is theirs and that of the access logs. Buckets must be empty to be deleted
    (CloudFormation template reference, DeletionPolicy).
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
    ) -> None:
        super().__init__(scope, construct_id)
        self.key = kms.Key(
            self,
            "Key",
            description="Encrypts Triton model archives",
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
                s3.LifecycleRule(abort_incomplete_multipart_upload_after=Duration.days(1)),
                s3.LifecycleRule(expiration=Duration.days(30), prefix=ENGINE_JOBS),
            ],
            removal_policy=removal_policy,
            server_access_logs_bucket=access_logs(self, removal_policy),
        )
        self.node.default_child = self.bucket.node.default_child
