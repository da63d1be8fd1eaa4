"""A stage's bucket of archives, and the stack that has it."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudformation.type_defs import StackTypeDef
    from mypy_boto3_s3 import S3Client

ABSENT = ("404", "NoSuchKey", "NotFound")


@dataclass(frozen=True)
class ArchiveBucket:
    """The bucket `name`, reached by a client of its region."""

    s3: "S3Client"
    name: str

    def manifest(self, archive: str) -> dict[str, Any] | None:
        """Return an archive's manifest, None where the archive is not there.

        It is written last: where it is, the archive is complete.
        """
        try:
            answer = self.s3.get_object(Bucket=self.name, Key=manifest_key(archive))
        except ClientError as error:
            if error.response["Error"]["Code"] in ABSENT:
                return None
            raise
        manifest: dict[str, Any] = json.loads(answer["Body"].read())
        return manifest

    def has(self, key: str) -> bool:
        """Whether a key has an object."""
        try:
            self.s3.head_object(Bucket=self.name, Key=key)
        except ClientError as error:
            if error.response["Error"]["Code"] in ABSENT:
                return False
            raise
        return True


def manifest_key(archive: str) -> str:
    """Return the key of the manifest that belongs to an archive's key."""
    return archive.removesuffix(".tar.gz") + ".json"


def stack_name(stage: str) -> str:
    """Return the name of the stack that has a stage's bucket."""
    return f"{stage}-models"


def stack_outputs(cloudformation: "CloudFormationClient", *, stage: str) -> dict[str, str]:
    """Return what that stack says of itself, nothing where it was never deployed."""
    stack = _stack(cloudformation, stage)
    return {it["OutputKey"]: it["OutputValue"] for it in stack.get("Outputs", ())} if stack else {}


def stack_id(cloudformation: "CloudFormationClient", *, stage: str) -> str | None:
    """Return that stack's id, None where there is none.

    One that was destroyed and deployed again has another id, and another bucket.
    """
    stack = _stack(cloudformation, stage)
    return stack["StackId"] if stack else None


def _stack(cloudformation: "CloudFormationClient", stage: str) -> "StackTypeDef | None":
    try:
        (stack,) = cloudformation.describe_stacks(StackName=stack_name(stage))["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
        return None
    return stack
