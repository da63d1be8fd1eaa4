"""Conditional writes to S3: the first writer of a key wins."""

import time
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_STANDS = ("PreconditionFailed", "412")
_UNDER_WAY = "ConditionalRequestConflict"
"""S3's codes: an object stands; another write is under way, and nobody knows yet how it ends."""

TRIES, PAUSE_SECONDS = 10, 1.0


def write_once(s3: "S3Client", *, bucket: str, key: str, body: bytes) -> bool:
    """Write JSON under a key that has no object; return False where it has one."""
    for left in reversed(range(TRIES)):
        try:
            s3.put_object(
                Bucket=bucket, Key=key, Body=body, ContentType="application/json", IfNoneMatch="*"
            )
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in _STANDS:
                return False
            if code != _UNDER_WAY or not left:
                raise
            time.sleep(PAUSE_SECONDS)
        else:
            return True
    raise AssertionError


def is_there(s3: "S3Client", *, bucket: str, key: str) -> bool:
    """Whether a key has an object."""
    try:
        s3.head_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if error.response["Error"]["Code"] == "404":  # to HEAD, S3 answers with a status alone
            return False
        raise
    return True


def is_taken(error: ClientError) -> bool:
    """Whether S3 refused a conditional write because the key has an object, or is getting one."""
    return bool(error.response["Error"]["Code"] in (*_STANDS, _UNDER_WAY))
