"""Conditional writes to S3: an existing object is never overwritten."""

import time
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_OBJECT_EXISTS = ("PreconditionFailed", "412")
_CONFLICT = "ConditionalRequestConflict"
"""S3's error codes: the key has an object; another write to the key is in progress."""

TRIES, PAUSE_SECONDS = 10, 1.0


def write_once(s3: "S3Client", *, bucket: str, key: str, body: bytes) -> bool:
    """Write JSON unless the key has an object; return whether it was written."""
    for tries_left in reversed(range(TRIES)):
        try:
            s3.put_object(
                Bucket=bucket, Key=key, Body=body, ContentType="application/json", IfNoneMatch="*"
            )
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in _OBJECT_EXISTS:
                return False
            if code != _CONFLICT or not tries_left:
                raise
            time.sleep(PAUSE_SECONDS)
        else:
            return True
    raise AssertionError


def is_conflict(error: ClientError) -> bool:
    """Return whether a conditional write failed because of an object or of another write."""
    return bool(error.response["Error"]["Code"] in (*_OBJECT_EXISTS, _CONFLICT))
