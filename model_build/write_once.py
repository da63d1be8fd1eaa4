"""Write an object where none stands yet: what decides who was first."""

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_TAKEN = ("PreconditionFailed", "412", "ConditionalRequestConflict")
"""S3's codes: the first two where an object stands, the last where another write is under way."""


def write_once(s3: "S3Client", *, bucket: str, key: str, body: bytes) -> bool:
    """Write JSON under a key that has no object; return False where it has one."""
    try:
        s3.put_object(
            Bucket=bucket, Key=key, Body=body, ContentType="application/json", IfNoneMatch="*"
        )
    except ClientError as error:
        if is_taken(error):
            return False
        raise
    return True


def is_taken(error: ClientError) -> bool:
    """Whether S3 refused a conditional write because the key has an object, or is getting one."""
    return bool(error.response["Error"]["Code"] in _TAKEN)
