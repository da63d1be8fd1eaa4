"""The bucket of model archives."""

from collections.abc import Sequence
from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from platform_facts.rules.bucket_keys import (
    ENGINE_JOBS,
    ENGINES,
    HISTORY,
    LISTS,
    PUBLISHED,
    RELEASES,
)
from triton_sagemaker.private_bucket import PrivateBucket


class ModelBucket(PrivateBucket):
    """An S3 bucket for model archives, encrypted with `encryption_key`, by default a new key.

    Archives are named after their content and never overwritten, so that the bucket needs no
    versioning. The bucket policy allows only builders to create archives, each key once; all other
    principals with write access may write below `PUBLISHED`, `ENGINE_JOBS`, `HISTORY`, `LISTS` and
    `RELEASES`. Jobs and lists are deleted after a month; accepted engines are copied below
    `ENGINES`. Bucket and key are retained when the stack is deleted, because running endpoints may
    load archives at any time.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, encryption_key: kms.IKey | None = None
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            content="Triton model archives",
            encryption_key=encryption_key,
            lifecycle_rules=[
                s3.LifecycleRule(abort_incomplete_multipart_upload_after=Duration.days(1)),
                s3.LifecycleRule(expiration=Duration.days(30), prefix=ENGINE_JOBS),
                s3.LifecycleRule(expiration=Duration.days(30), prefix=LISTS),
            ],
        )

    def reserve_archives(self, writers: Sequence[str]) -> None:
        """Deny writes of archives to all principals except `writers`, patterns of role ARNs.

        Source of NotResource in a bucket policy: AWS re:Post, s3-allow-certain-file-types.
        The second statement allows each key to be created once. It exempts CreateMultipartUpload,
        UploadPart and UploadPartCopy, which take no If-None-Match and create no object (S3 user
        guide, "Enforce conditional writes"), and the files of engines, which are named after their
        SHA-256 and verified when they are read.
        """
        published, jobs, engines, history, lists, releases = (
            self.arn_for_objects(f"{prefix}*")
            for prefix in (f"*/{PUBLISHED}", ENGINE_JOBS, ENGINES, HISTORY, LISTS, RELEASES)
        )
        self.add_to_resource_policy(
            _deny_writes(
                sid="OnlyBuildersWriteArchives",
                conditions={"ArnNotLike": {"aws:PrincipalArn": list(writers)}},
                not_resources=[published, jobs, history, lists, releases],
            )
        )
        self.add_to_resource_policy(
            _deny_writes(
                sid="ArchivesAreWrittenOnce",
                conditions={
                    "Bool": {"s3:ObjectCreationOperation": "true"},
                    "Null": {"s3:if-none-match": "true"},
                },
                not_resources=[published, jobs, engines],
            )
        )

    def reserve_releases(self, writer: str) -> None:
        """Deny writes of releases to all principals except `writer`, a pattern of role ARNs."""
        self.add_to_resource_policy(
            _deny_writes(
                sid="OnlyDeliveriesWriteReleases",
                conditions={"ArnNotLike": {"aws:PrincipalArn": [writer]}},
                resources=[self.arn_for_objects(f"{RELEASES}*")],
            )
        )

    def reserve_results(self, writer: str) -> None:
        """Deny writes of the results of engine jobs to all principals except the role `writer`."""
        self.add_to_resource_policy(
            _deny_writes(
                sid="OnlyEngineBuildsWriteResults",
                conditions={"ArnNotLike": {"aws:PrincipalArn": [writer]}},
                resources=[self.arn_for_objects(f"{ENGINE_JOBS}*/raw/*")],
            )
        )


def _deny_writes(**statement: Any) -> iam.PolicyStatement:
    """Return a statement that denies `s3:PutObject` to everybody, with these conditions."""
    return iam.PolicyStatement(
        effect=iam.Effect.DENY,
        principals=[iam.AnyPrincipal()],
        actions=["s3:PutObject"],
        **statement,
    )
