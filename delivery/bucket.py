"""The S3 bucket with a stage's archives, and the stack of the bucket."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from delivery.aws import stack_description
from delivery.errors import NotDelivered
from delivery.permissions import NAMED_RESOURCES

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_s3 import S3Client

BUCKET_OUTPUT = f"ExportsOutputRef{NAMED_RESOURCES['model_bucket'].logical_id}"
"""Prefix of the stack output with the bucket's name (aws-cdk-lib, core/lib/private/refs.ts)."""
NOT_FOUND_CODES = ("404", "NoSuchKey", "NotFound")
"""S3's error codes for a key without an object."""
KEY_TAKEN_CODES = ("PreconditionFailed", "412", "ConditionalRequestConflict")
"""S3's error codes for a key that has an object, or to which another request writes one."""


@dataclass(frozen=True)
class ArchiveBucket:
    """The bucket `name`; `s3` is a client in its region."""

    s3: "S3Client"
    name: str

    def is_complete(self, archive: str) -> bool:
        """Return whether an archive and its manifest exist.

        Raise `NotDelivered` if the archive's SHA-256 differs from the one in the manifest. A
        manifest without a SHA-256 is accepted, as by the update guard in the stack.
        """
        manifest = self.manifest(archive)
        checksum = self.checksum(archive) if manifest else None
        if manifest is None or checksum is None:
            return False
        recorded_checksum = manifest["archive"].get("checksum", checksum)
        if checksum != recorded_checksum:
            raise checksum_mismatch(self.name, archive, recorded_checksum, checksum)
        return True

    def incomplete(self, archives: Iterable[str]) -> list[str]:
        """Return the archives that do not exist, or have no manifest; see `is_complete`.

        Builders write the manifest last, so only an archive that is newer than its manifest can
        have been replaced: the others are not read.
        """
        names = list(archives)
        times = dict[str, Any]()
        pages = self.s3.get_paginator("list_objects_v2")
        for prefix in sorted({name.rpartition("/")[0] for name in names}):
            for page in pages.paginate(Bucket=self.name, Prefix=f"{prefix}/"):
                times |= {entry["Key"]: entry["LastModified"] for entry in page.get("Contents", ())}
        return [
            name
            for name in names
            if not times.keys() >= {name, manifest_key(name)}
            or (times[name] > times[manifest_key(name)] and not self.is_complete(name))
        ]

    def checksum(self, key: str) -> str | None:
        """Return the SHA-256 that S3 stores for an object, None if there is no object.

        Return an empty text for an object that was uploaded without a SHA-256.
        """
        try:
            head = self.s3.head_object(Bucket=self.name, Key=key, ChecksumMode="ENABLED")
        except ClientError as error:
            if error.response["Error"]["Code"] in NOT_FOUND_CODES:
                return None
            raise
        return head.get("ChecksumSHA256", "")

    def manifest(self, archive: str) -> dict[str, Any] | None:
        """Return an archive's manifest, None before the archive is complete."""
        content = self.read(manifest_key(archive))
        manifest: dict[str, Any] | None = None if content is None else json.loads(content)
        return manifest

    def read(self, key: str) -> bytes | None:
        """Return the content of an object, None if there is no object."""
        try:
            content: bytes = self.s3.get_object(Bucket=self.name, Key=key)["Body"].read()
        except ClientError as error:
            if error.response["Error"]["Code"] in NOT_FOUND_CODES:
                return None
            raise
        return content

    def write_once(self, key: str, content: bytes) -> None:
        """Write an object unless it exists, with the SHA-256 that S3 checks."""
        try:
            self.s3.put_object(
                Bucket=self.name,
                Key=key,
                Body=content,
                ChecksumAlgorithm="SHA256",
                IfNoneMatch="*",
            )
        except ClientError as error:
            if error.response["Error"]["Code"] not in KEY_TAKEN_CODES:
                raise


def manifest_key(archive: str) -> str:
    """Return the key of an archive's manifest."""
    return archive.removesuffix(".tar.gz") + ".json"


def source_key(digest: str) -> str:
    """Return the key of the source for archives with this digest."""
    return f"sources/{digest}.zip"


def checksum_mismatch(bucket: str, key: str, recorded: str, actual: str) -> NotDelivered:
    """Return the error for an archive whose SHA-256 differs from the one in its manifest."""
    return NotDelivered(
        f"s3://{bucket}/{key} has {f'the SHA-256 {actual}' if actual else 'no SHA-256'}, and its "
        f"manifest records {recorded}: the archive was replaced. Delete it, and deliver the "
        "stage of this bucket again, to build it"
    )


def stack_name(stage: str) -> str:
    """Return the name of the stack with a stage's bucket."""
    return f"{stage}-models"


def stack_outputs(cloudformation: "CloudFormationClient", stage: str) -> dict[str, str]:
    """Return the outputs of the stack with a stage's bucket; empty if it was never deployed."""
    stack = stack_description(cloudformation, stack_name(stage))
    outputs = stack.get("Outputs", ()) if stack else ()
    return {output["OutputKey"]: output["OutputValue"] for output in outputs}


def model_bucket(cloudformation: "CloudFormationClient", stage: str) -> str | None:
    """Return the name of a stage's bucket, None if the stage was never deployed."""
    outputs = stack_outputs(cloudformation, stage)
    return next((value for name, value in outputs.items() if name.startswith(BUCKET_OUTPUT)), None)
