"""The bucket of model archives."""

from collections.abc import Sequence
from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from triton_sagemaker.private_bucket import PrivateBucket

ENGINE_JOBS = "engine-jobs/"
"""Where the jobs of engine builds are kept, each with what its builds left, below its hash."""
ENGINES, SOURCES = "engines/", "sources/"
"""Where engines that passed their gate are kept, and what archives were built from."""
PUBLISHED = "published/"
"""Where publishers write, below the prefix that an endpoint loads from."""
HISTORY = "history/"
"""Where every change of a stage is recorded, by whoever makes it."""


class ModelBucket(PrivateBucket):
    """An S3 bucket for model archives, encrypted with a key of its own.

    Archives are named by their content and never overwritten, so there is nothing to version. Its
    policy lets builders alone write them, and only where nothing stands; whoever else may write to
    the bucket writes below `PUBLISHED`, the jobs of engine builds and the `HISTORY`. Jobs go after
    a month: an engine that passed its gate is kept elsewhere.
    Bucket and key outlive the stack: running endpoints read from them at any time.
    """

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(
            scope,
            construct_id,
            encrypts="Triton model archives",
            lifecycle_rules=[
                s3.LifecycleRule(abort_incomplete_multipart_upload_after=Duration.days(1)),
                s3.LifecycleRule(expiration=Duration.days(30), prefix=ENGINE_JOBS),
            ],
        )

    def reserve_archives(self, writers: Sequence[str]) -> None:
        """Deny writes of what a deploy serves to all but `writers`, patterns of ARNs of roles.

        NotResource in a bucket's policy: AWS re:Post, s3-allow-certain-file-types.
        An archive is created once. CreateMultipartUpload, UploadPart and UploadPartCopy take no
        If-None-Match, and create no object (S3 user guide, "Enforce conditional writes"). Nor do
        files of engines, whose names are their SHA-256, by which they are read.
        """
        others = [self.arn_for_objects(f"{prefix}*") for prefix in (f"*/{PUBLISHED}", ENGINE_JOBS)]
        engines, history = (self.arn_for_objects(f"{prefix}*") for prefix in (ENGINES, HISTORY))
        self.add_to_resource_policy(
            _deny_writes(
                sid="OnlyBuildersWriteArchives",
                conditions={"ArnNotLike": {"aws:PrincipalArn": list(writers)}},
                not_resources=[*others, history],
            )
        )
        self.add_to_resource_policy(
            _deny_writes(
                sid="ArchivesAreWrittenOnce",
                conditions={
                    "Bool": {"s3:ObjectCreationOperation": "true"},
                    "Null": {"s3:if-none-match": "true"},
                },
                not_resources=[*others, engines],
            )
        )

    def reserve_results(self, writer: str) -> None:
        """Deny writes of what engine jobs leave to all but the role of an ARN."""
        self.add_to_resource_policy(
            _deny_writes(
                sid="OnlyEngineBuildsWriteResults",
                conditions={"ArnNotLike": {"aws:PrincipalArn": [writer]}},
                resources=[self.arn_for_objects(f"{ENGINE_JOBS}*/raw/*")],
            )
        )


def _deny_writes(**statement: Any) -> iam.PolicyStatement:
    """Return a statement that denies writes, by what of it is not the same for all."""
    return iam.PolicyStatement(
        effect=iam.Effect.DENY,
        principals=[iam.AnyPrincipal()],
        actions=["s3:PutObject"],
        **statement,
    )
