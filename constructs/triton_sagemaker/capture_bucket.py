"""The bucket of recorded requests."""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_s3 as s3
from constructs import Construct

from triton_sagemaker.private_bucket import PrivateBucket


class CaptureBucket(PrivateBucket):
    """An S3 bucket for what `DataCapture` records, encrypted with a key of its own.

    Not the bucket of archives: whatever builds models may read that one. `keep` says for each
    prefix after how long a record is deleted; what is below none, of endpoints that record no
    longer, goes with the longest of them. Bucket and key outlive the stack.
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
                    if duration.to_days() < longest  # of two rules, S3 goes by the shorter
                ),
            ],
        )
