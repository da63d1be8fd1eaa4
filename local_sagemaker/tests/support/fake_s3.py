"""A fake S3 client."""

import hashlib
import io
from typing import Any

from botocore.exceptions import ClientError


class FakeS3:
    """A fake S3 client with objects in memory, which records downloads."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], bytes] = {}
        self.downloads: list[tuple[str, str]] = []

    def get_object(self, *, Bucket: str, Key: str, IfNoneMatch: str = "") -> dict[str, Any]:  # noqa: N803
        self.downloads.append((Bucket, Key))
        if (Bucket, Key) not in self.objects:
            raise ClientError(
                {"Error": {"Code": "NoSuchKey", "Message": "No such key."}}, "GetObject"
            )
        content = self.objects[Bucket, Key]
        etag = f'"{hashlib.md5(content).hexdigest()}"'
        if etag == IfNoneMatch:
            raise ClientError({"Error": {"Code": "304", "Message": "Not Modified"}}, "GetObject")
        return {"Body": io.BytesIO(content), "ContentLength": len(content), "ETag": etag}

    def head_object(self, *, Bucket: str, Key: str, **_: str) -> dict[str, Any]:  # noqa: N803
        if (Bucket, Key) not in self.objects:
            raise ClientError({"Error": {"Code": "404", "Message": "Not Found"}}, "HeadObject")
        return {}

    def head_bucket(self, *, Bucket: str) -> None:  # noqa: N803
        if Bucket not in {bucket for bucket, _ in self.objects}:
            raise ClientError({"Error": {"Code": "404", "Message": "Not Found"}}, "HeadBucket")

    def get_paginator(self, operation: str) -> "FakeS3":
        assert operation == "list_objects_v2"
        return self

    def paginate(self, *, Bucket: str, Prefix: str) -> list[dict[str, Any]]:  # noqa: N803
        """Return an empty page and one page per object."""
        keys = [key for bucket, key in self.objects if bucket == Bucket and key.startswith(Prefix)]
        return [{}, *({"Contents": [{"Key": key}]} for key in keys)]
