"""Where recorded requests are kept."""

from collections.abc import Mapping

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_s3 as s3
from constructs import Construct

from triton_sagemaker.argument_types import typed
from triton_sagemaker.private_bucket import private_bucket


@typed
class CaptureBucket(Construct):
    """An S3 bucket for what `DataCapture` records, encrypted with a key of its own.

    Not the bucket of archives: whatever builds models may read that one. `keep` says for each
    prefix after how long a record is deleted; what is below none, of endpoints that record no
    longer, goes with the longest of them. Bucket and key outlive the stack by default;
    `removal_policy` is theirs and that of the access logs.
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
        self.key, self.bucket = private_bucket(
            self,
            encrypts="recorded requests",
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
        )
