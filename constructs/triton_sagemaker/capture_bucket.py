"""The bucket of captured requests."""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from triton_sagemaker.private_bucket import PrivateBucket


class CaptureBucket(PrivateBucket):
    """An S3 bucket for the records of `DataCapture`, encrypted with `encryption_key` or a new key.

    It is separate from the bucket of archives, because builds can read the latter. `retention` maps
    prefixes to retention times; records below other prefixes, such as those of an endpoint that no
    longer captures, are kept for the longest of these times. Bucket and key are retained when the
    stack is deleted.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        retention: Mapping[str, Duration],
        encryption_key: kms.IKey | None = None,
    ) -> None:
        longest = max(duration.to_days() for duration in retention.values())
        super().__init__(
            scope,
            construct_id,
            content="recorded requests",
            encryption_key=encryption_key,
            lifecycle_rules=[
                s3.LifecycleRule(
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                    expiration=Duration.days(longest),
                ),
                *(
                    s3.LifecycleRule(expiration=duration, prefix=prefix)
                    for prefix, duration in retention.items()
                    if duration.to_days() < longest  # if two rules match, S3 applies the shorter
                ),
            ],
        )
