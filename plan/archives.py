"""The S3 bucket of a stage's archives, whose objects are never overwritten."""

import json
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from platform_facts.rules.bucket_keys import manifest_key

if TYPE_CHECKING:
    from datetime import datetime

    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

    SendPart = Callable[[dict[str, Any], int], CompletedPartTypeDef]

_NOT_FOUND = ("404", "NoSuchKey", "NotFound")
_KEY_TAKEN = ("PreconditionFailed", "412")
_CONFLICT = "ConditionalRequestConflict"
"""S3's error codes: the key has no object; it has one; another write to the key is in progress."""
TRIES, PAUSE_SECONDS = 10, 1.0


class ArchiveReplaced(Exception):
    """An archive whose SHA-256 is not the one in its manifest."""

    def __init__(self, bucket: str, key: str, recorded: str, actual: str) -> None:
        super().__init__(
            f"s3://{bucket}/{key} has {f'the SHA-256 {actual}' if actual else 'no SHA-256'}, and "
            f"its manifest records {recorded}: the archive was replaced. Delete it, and deliver "
            "the stage of this bucket again, or publish the model again, to build it"
        )


@dataclass(frozen=True)
class ArchiveBucket:
    """The bucket `name`; `s3` is a client in its region."""

    s3: "S3Client"
    name: str

    def is_complete(self, archive: str) -> bool:
        """Return whether an archive and its manifest, which is written last, exist.

        Raise `ArchiveReplaced` if the archive's SHA-256 differs from the one in the manifest. A
        manifest of an earlier builder has no SHA-256, and is accepted, as by the update guard in
        the stack.
        """
        manifest = self.manifest(archive)
        checksum = self.checksum(archive) if manifest else None
        if manifest is None or checksum is None:
            return False
        recorded_checksum = manifest["archive"].get("checksum", checksum)
        if checksum != recorded_checksum:
            raise ArchiveReplaced(self.name, archive, recorded_checksum, checksum)
        return True

    def incomplete(self, archives: Iterable[str]) -> list[str]:
        """Return the archives that do not exist, or have no manifest; see `is_complete`."""
        return [
            name
            for name, is_listed in self.doubtful(archives)
            if not is_listed or not self.is_complete(name)
        ]

    def doubtful(self, archives: Iterable[str]) -> Iterator[tuple[str, bool]]:
        """Yield the archives that may be incomplete, and whether each is listed with its manifest.

        Builders write the manifest last, so only an archive that is newer than its manifest can
        have been replaced. The others are not read.
        """
        names = list(archives)
        times = dict[str, "datetime"]()
        for prefix in sorted({name.rpartition("/")[0] for name in names}):
            times |= self.times(f"{prefix}/")
        for name in names:
            is_listed = times.keys() >= {name, manifest_key(name)}
            if not is_listed or times[name] > times[manifest_key(name)]:
                yield name, is_listed

    def times(self, prefix: str) -> "dict[str, datetime]":
        """Return key -> time of the last write, of all objects with a prefix."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        return {
            entry["Key"]: entry["LastModified"]
            for page in pages
            for entry in page.get("Contents", ())
        }

    def checksum(self, key: str) -> str | None:
        """Return the SHA-256 that S3 stores for an object, None if there is no object.

        Return an empty text for an object that was uploaded without a SHA-256.
        """
        try:
            head = self.s3.head_object(Bucket=self.name, Key=key, ChecksumMode="ENABLED")
        except ClientError as error:
            if error.response["Error"]["Code"] in _NOT_FOUND:
                return None
            raise
        return head.get("ChecksumSHA256", "")

    def manifest(self, archive: str) -> dict[str, Any] | None:
        """Return an archive's manifest, None before the archive is complete.

        Its fields depend on the version of its builder.
        """
        content = self.read(manifest_key(archive))
        manifest: dict[str, Any] | None = None if content is None else json.loads(content)
        return manifest

    def read(self, key: str) -> bytes | None:
        """Return the content of an object, None if there is no object."""
        try:
            content: bytes = self.s3.get_object(Bucket=self.name, Key=key)["Body"].read()
        except ClientError as error:
            if error.response["Error"]["Code"] in _NOT_FOUND:
                return None
            raise
        return content

    def write_once(self, key: str, content: bytes) -> bool:
        """Write an object, with the SHA-256 that S3 checks, unless the key has one.

        Return whether it was written.
        """
        for tries_left in reversed(range(TRIES)):
            try:
                self.s3.put_object(
                    Bucket=self.name,
                    Key=key,
                    Body=content,
                    ChecksumAlgorithm="SHA256",
                    IfNoneMatch="*",
                )
            except ClientError as error:
                code = error.response["Error"]["Code"]
                if code in _KEY_TAKEN:
                    return False
                if code != _CONFLICT or not tries_left:
                    raise
                time.sleep(PAUSE_SECONDS)
            else:
                return True
        raise AssertionError

    def write_parts_once(
        self,
        key: str,
        send_part: "SendPart",
        parts: Iterable[int],
        *,
        threads: int,
        verify: Callable[[str], None] = lambda _: None,
        **attributes: Any,
    ) -> bool:
        """Write an object in parts, unless the key has one when they are sent.

        Return False if it has, or if another process is writing one. `send_part` gets the upload's
        parameters and the number of a part, `verify` the SHA-256 of the object before it exists.
        An upload that fails, or that `verify` rejects, is aborted.
        """
        upload: Any = {"Bucket": self.name, "Key": key}
        upload["UploadId"] = self.s3.create_multipart_upload(
            **upload, **attributes, ChecksumAlgorithm="SHA256"
        )["UploadId"]
        try:
            with ThreadPoolExecutor(threads) as pool:
                sent = list(pool.map(partial(send_part, upload), parts))
            verify(composite_checksum(part["ChecksumSHA256"] for part in sent))
            self.s3.complete_multipart_upload(
                **upload, MultipartUpload={"Parts": sent}, IfNoneMatch="*"
            )
        except BaseException as error:
            with suppress(Exception):  # it would hide the upload's error
                self.s3.abort_multipart_upload(**upload)
            if isinstance(error, ClientError) and error.response["Error"]["Code"] in (
                *_KEY_TAKEN,
                _CONFLICT,
            ):
                return False
            raise
        return True


def composite_checksum(parts: Iterable[str]) -> str:
    """Return the SHA-256 that S3 stores for an object, from the SHA-256s of its parts.

    It is the SHA-256 of the parts' SHA-256s in base64, a dash and the number of parts (S3 user
    guide, "Checking object integrity").
    """
    digests = [b64decode(part) for part in parts]
    return f"{b64encode(sha256(b''.join(digests)).digest()).decode()}-{len(digests)}"
