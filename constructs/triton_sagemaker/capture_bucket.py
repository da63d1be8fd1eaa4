"""The S3 bucket of captured requests and responses."""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_s3 as s3
from constructs import Construct

from triton_sagemaker.private_bucket import PrivateBucket


class CaptureBucket(PrivateBucket):
    """An S3 bucket for `DataCapture`, encrypted with its own KMS key.

    Captured data is not in the bucket of model archives, because model builds may read that bucket.
    `keep` maps a key prefix to the retention of its objects, in whole days; objects below other
    prefixes (endpoints without data capture now) expire after the longest retention. `keep` must
    not be empty. The bucket and its key are retained when the stack is deleted.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, keep: Mapping[str, Duration]
    ) -> None:
        longest = max(duration.to_days() for duration in keep.values())
        super().__init__(
            scope,
            construct_id,
            encrypts="recorded requests",
            lifecycle_rules=[
                s3.LifecycleRule(
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                    expiration=Duration.days(longest),
                ),
                *(
                    s3.LifecycleRule(expiration=duration, prefix=prefix)
                    for prefix, duration in keep.items()
                    if duration.to_days()
                    < longest  # if two rules match, S3 applies the shorter one
                ),
            ],
        )
