"""The S3 bucket of model archives."""

from collections.abc import Sequence
from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from triton_sagemaker.private_bucket import PrivateBucket

ENGINE_JOBS = "engine-jobs/"
"""Prefix of engine build jobs and their results: `engine-jobs/HASH/`."""
ENGINES, SOURCES = "engines/", "sources/"
"""Prefixes of engines that passed their accuracy gate, and of the sources of archives."""
PUBLISHED = "published/"
"""Prefix of archives of publishers, below the prefix that an endpoint loads from."""
HISTORY = "history/"
"""Prefix of the records of every change of a stage."""


class ModelBucket(PrivateBucket):
    """An S3 bucket for model archives, encrypted with its own KMS key (`key`).

    Archives are named by their content and never overwritten, so the bucket is not versioned. After
    `reserve_archives`, only builders can write archives, and cannot overwrite them; other
    principals can write only below `PUBLISHED`, `ENGINE_JOBS` and `HISTORY`. Objects below
    `ENGINE_JOBS` expire after 30 days; engines that passed their gate are copied to `ENGINES`.
    The bucket and its key are retained when the stack is deleted: endpoints read from them.
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
        """Deny writes of archives, except by `writers` (patterns of role ARNs), and overwrites.

        NotResource in a bucket policy: AWS re:Post, s3-allow-certain-file-types. The condition on
        If-None-Match applies to requests that create an object: CreateMultipartUpload, UploadPart
        and UploadPartCopy cannot send it (S3 user guide, "Enforce conditional writes"). Engines are
        exempt: their names are their SHA-256, which readers verify.
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
        """Deny writes of results of engine jobs, except by the role with the ARN `writer`."""
        self.add_to_resource_policy(
            _deny_writes(
                sid="OnlyEngineBuildsWriteResults",
                conditions={"ArnNotLike": {"aws:PrincipalArn": [writer]}},
                resources=[self.arn_for_objects(f"{ENGINE_JOBS}*/raw/*")],
            )
        )


def _deny_writes(**statement: Any) -> iam.PolicyStatement:
    """Return a statement that denies s3:PutObject to everyone that `statement` does not exempt."""
    return iam.PolicyStatement(
        effect=iam.Effect.DENY,
        principals=[iam.AnyPrincipal()],
        actions=["s3:PutObject"],
        **statement,
    )
