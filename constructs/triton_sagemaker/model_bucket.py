"""Where model archives are kept."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_s3 as s3
from constructs import Construct

from triton_sagemaker.argument_types import typed
from triton_sagemaker.private_bucket import private_bucket

ENGINE_JOBS = "engine-jobs/"
"""Where the jobs of engine builds are kept, each with what its builds left, below its hash."""
ENGINES, SOURCES = "engines/", "sources/"
"""Where engines that passed their gate are kept, and what archives were built from."""


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
        self.key, self.bucket = private_bucket(
            self,
            encrypts="Triton model archives",
            lifecycle_rules=[
                s3.LifecycleRule(abort_incomplete_multipart_upload_after=Duration.days(1)),
                s3.LifecycleRule(expiration=Duration.days(30), prefix=ENGINE_JOBS),
            ],
            removal_policy=removal_policy,
        )
