"""The S3 bucket with a stage's archives, and its stack."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from release.delivery.errors import NotDelivered
from release.delivery.stack_status import described_stack
from release.permissions import NAMED

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_s3 import S3Client

OUTPUT = f"ExportsOutputRef{NAMED['model_bucket'].resource}"
"""The beginning of the output with the bucket's name (aws-cdk-lib, core/lib/private/refs.ts)."""
ABSENT = ("404", "NoSuchKey", "NotFound")


@dataclass(frozen=True)
class ArchiveBucket:
    """The bucket `name`; `s3` is a client in its region."""

    s3: "S3Client"
    name: str

    def is_complete(self, archive: str) -> bool:
        """Return whether an archive and its manifest exist.

        Raise `NotDelivered` if the archive's SHA-256 is not the manifest's. As in the stack's
        guard, a manifest without a SHA-256 is accepted.
        """
        manifest = self.manifest(archive)
        checksum = self.checksum(archive) if manifest else None
        if manifest is None or checksum is None:
            return False
        recorded = manifest["archive"].get("checksum", checksum)
        if checksum != recorded:
            raise other_bytes(self.name, archive, recorded, checksum)
        return True

    def checksum(self, key: str) -> str | None:
        """Return the SHA-256 that S3 stores for an object, None if there is no object.

        It is empty for an object that was uploaded without one.
        """
        try:
            head = self.s3.head_object(Bucket=self.name, Key=key, ChecksumMode="ENABLED")
        except ClientError as error:
            if error.response["Error"]["Code"] in ABSENT:
                return None
            raise
        return head.get("ChecksumSHA256", "")

    def manifest(self, archive: str) -> dict[str, Any] | None:
        """Return an archive's manifest, which is written last; None if there is none."""
        try:
            answer = self.s3.get_object(Bucket=self.name, Key=manifest_key(archive))
        except ClientError as error:
            if error.response["Error"]["Code"] in ABSENT:
                return None
            raise
        manifest: dict[str, Any] = json.loads(answer["Body"].read())
        return manifest


def manifest_key(archive: str) -> str:
    """Return the key of an archive's manifest."""
    return archive.removesuffix(".tar.gz") + ".json"


def source_key(digest: str) -> str:
    """Return the key of the source that archives with this digest are built from."""
    return f"sources/{digest}.zip"


def other_bytes(bucket: str, key: str, recorded: str, actual: str) -> NotDelivered:
    """Return the error for an archive whose SHA-256 is not its manifest's."""
    return NotDelivered(
        f"s3://{bucket}/{key} has the SHA-256 {actual or 'of no builder'}, and its manifest "
        f"records {recorded}: somebody has replaced it. Delete the archive, and deliver that stage "
        "again, which builds it"
    )


def stack_name(stage: str) -> str:
    """Return the name of the stack that has a stage's bucket."""
    return f"{stage}-models"


def stack_outputs(cloudformation: "CloudFormationClient", *, stage: str) -> dict[str, str]:
    """Return the outputs of the stack with a stage's bucket; empty if it was never deployed."""
    stack = described_stack(cloudformation, stack_name(stage))
    outputs = stack.get("Outputs", ()) if stack else ()
    return {output["OutputKey"]: output["OutputValue"] for output in outputs}


def model_bucket(cloudformation: "CloudFormationClient", stage: str) -> str | None:
    """Return the name of a stage's bucket, None if the stage was never deployed."""
    outputs = stack_outputs(cloudformation, stage=stage)
    return next((value for name, value in outputs.items() if name.startswith(OUTPUT)), None)
