"""Download and safe unpacking of model archives."""

import errno
import io
import math
import os
import posixpath
import shutil
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError
from isal import igzip

from local_sagemaker.errors import ApiError, plain_message

if TYPE_CHECKING:
    from botocore.response import StreamingBody
    from mypy_boto3_s3 import S3Client


BUFFER_BYTES = 1 << 20
READ_BYTES = 1 << 16  # of a download between two looks at the clock

# Our limit: far above any real model repository.
MAX_MEMBERS = 100_000
MAX_LINKS = 40  # Linux's limit for a path (path_resolution(7))

# Our limit: Linux allows 4096 bytes for a path, including the instance's folder.
MAX_PATH_BYTES = 1024

# Our limit for the extended headers of a member, which tarfile keeps in memory.
MAX_HEADER_BYTES = 1 << 20


# Our limits against decompression bombs: an archive is rejected if its unpacked size exceeds both
# `MIN_BOMB_BYTES` and `BOMB_RATIO` times its packed size. Zeros unpack to 1032 times their size
# (zlib.net/zlib_tech.html).
MIN_BOMB_BYTES = 1 << 30
BOMB_RATIO = 100


@dataclass(frozen=True)
class S3Prefix:
    """A bucket and a key; the prefix of a multi-model container ends with a slash."""

    bucket: str
    key: str

    @classmethod
    def parse(cls, url: str) -> "S3Prefix":
        """Parse a URL such as `s3://bucket/prefix/`."""
        bucket, _, key = url.removeprefix("s3://").partition("/")
        return cls(bucket, key)


class NotDownloadedError(ApiError):
    """An archive could not be downloaded; the message is that of a multi-model endpoint."""


class TooLargeError(Exception):
    """An archive is too large for the volume; its unpacked size is at least `size` bytes."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"No space left on device: more than {limit} bytes, unpacked")
        self.size = size


@dataclass(frozen=True)
class UnpackedArchive:
    """The ETag and the unpacked size in bytes of an archive on the volume."""

    etag: str
    size: int


def fetch(
    s3: "S3Client",
    *,
    bucket: str,
    key: str,
    to: Path,
    limit: int,
    seconds: float = math.inf,
    previous: UnpackedArchive | None = None,
) -> UnpackedArchive:
    """Download `s3://bucket/key` and unpack it into the folder `to` as a stream.

    The archive is unpacked beside `to` and then renamed, so that `to` is always complete.
    `previous` is the archive that `to` contains already; it stays there if the object has the same
    ETag or cannot be read. Raise InvokeEndpoint's `ApiError` if the object is missing or not an
    archive, takes longer than `seconds`, or unpacks to more than `limit` bytes (then `__cause__` is
    a `TooLargeError`).
    """
    deadline = time.monotonic() + seconds
    try:
        condition = {"IfNoneMatch": previous.etag} if previous else {}
        response = s3.get_object(Bucket=bucket, Key=key, **condition)  # type: ignore[arg-type]
    except (ClientError, BotoCoreError) as error:
        if previous:  # the object is not modified, or S3 failed
            return previous
        reason = error.response["Error"]["Message"] if isinstance(error, ClientError) else error
        raise NotDownloadedError(
            "ValidationError",
            f"Failed to download model data (bucket: {bucket}, key: {key}). Please ensure that "
            f"there is an object located at the URL and that the role passed to CreateModel has "
            f"permissions to download it: {reason}",
        ) from None
    to.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f"{to.name}.", dir=to.parent) as beside:
        unpacked = Path(beside) / to.name
        unpacked.mkdir()
        try:
            with (
                igzip.IGzipFile(fileobj=_TimedBody(response["Body"], deadline)) as unzipped,  # type: ignore[no-untyped-call]
                _LimitedStream(unzipped) as stream,
                tarfile.open(fileobj=stream, mode="r|", bufsize=BUFFER_BYTES) as tar,
            ):
                max_size = max(MIN_BOMB_BYTES, BOMB_RATIO * response["ContentLength"])
                size = _unpack(tar, stream, unpacked, limit, max_size)
        except Exception as error:  # of tarfile, isal, or the connection
            raise ApiError(
                "ValidationError",
                f"Failed to extract model data s3://{bucket}/{key}: {_message(error)}",
            ) from error
        shutil.rmtree(to, ignore_errors=True)
        unpacked.rename(to)
    return UnpackedArchive(response["ETag"], size)


class _TimedBody(io.RawIOBase):
    """The body of a download, which is read until a deadline (`time.monotonic` seconds)."""

    def __init__(self, body: "StreamingBody", deadline: float) -> None:
        self._body, self._deadline = body, deadline

    def readinto(self, buffer: Any, /) -> int:
        """Read up to `READ_BYTES` bytes. Raise `ValueError` after the deadline.

        A body waits until it has all bytes that are asked for: more would delay the error.
        """
        if time.monotonic() > self._deadline:
            raise ValueError("it takes longer than ModelDataDownloadTimeoutInSeconds")
        part: Any = memoryview(buffer)[:READ_BYTES]
        return self._body.readinto(part)


class _LimitedStream(io.BufferedIOBase):
    """A stream that limits the number of bytes read between two calls of `allow`."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream
        self.allow(0)

    def allow(self, size: int) -> None:
        """Allow reading a file of `size` bytes, the next header, and tarfile's read-ahead."""
        self._allowed_bytes = size + MAX_HEADER_BYTES + BUFFER_BYTES

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next bytes. Raise `ValueError` above the limit: a header is too long."""
        data = self._stream.read(size)
        self._allowed_bytes -= len(data)
        if self._allowed_bytes < 0:
            raise ValueError("a header, or the padding after the last file, exceeds the size limit")
        return data


def _unpack(
    tar: tarfile.TarFile, stream: _LimitedStream, to: Path, limit: int, max_size: int
) -> int:
    """Unpack an archive into the folder `to`; return the size of its files in bytes.

    Raise `TooLargeError` above `limit` bytes, and `ValueError` for a member outside `to`, or above
    `max_size` bytes (a decompression bomb).
    """
    size = 0
    # Python before 3.11.4, such as Debian's, has no filters; `_check_member` works everywhere.
    tar.extraction_filter = getattr(tarfile, "data_filter", None)
    for count, member in enumerate(tar, 1):
        size += member.size
        if size > limit:
            raise TooLargeError(size, limit)
        if size > max_size:
            raise ValueError(
                f"decompression bomb: the archive unpacks to more than {max_size} bytes"
            )
        if count > MAX_MEMBERS:
            raise ValueError(f"the archive has more than {MAX_MEMBERS} members")
        _check_member(member, to)
        stream.allow(member.size)
        tar.extract(member, to)
    stream.allow(limit)
    _check_end(tar)
    return size


def _message(error: Exception) -> str:
    """Return the message of an error, without the local path in tarfile's messages."""
    if member := getattr(error, "tarinfo", None):  # an error of tarfile's filter
        return f"{member.name!r} leads outside the archive, or is not allowed in one"
    return plain_message(error)


def _check_member(member: tarfile.TarInfo, to: Path) -> None:
    """Raise `ValueError` if a member would be outside the folder `to`, also through a link."""
    _check_path(member.name)
    folder = posixpath.dirname(member.name)
    if not _is_inside(folder, to):
        raise ValueError(f"{member.name!r} is below a link that leads outside the archive")
    if member.issym() or member.islnk():
        target = posixpath.join(folder if member.issym() else "", member.linkname)
        if not _is_inside(target, to):
            raise ValueError(
                f"{member.name!r} is a link to {member.linkname!r}, which leads outside the archive"
            )
    elif not (member.isreg() or member.isdir()):
        raise ValueError(f"{member.name!r} is not a file, folder or link")


def _is_inside(path: str, folder: Path) -> bool:
    """Return whether every component of a path is in `folder`, following unpacked links.

    `os.path.realpath` stops following links beyond the maximum path length, so that it and
    tarfile's filter accept paths outside the folder (CVE-2025-4517).
    """
    root = location = Path(os.path.realpath(folder))
    steps, link_count = path.split("/")[::-1], 0
    if path.startswith("/"):
        return False
    while steps:
        step = steps.pop()
        location = location.parent if step == ".." else location / step
        if not location.is_relative_to(root):
            return False
        try:
            target = str(location.readlink())
        except OSError as error:
            if error.errno in {errno.EINVAL, errno.ENOENT, errno.ENOTDIR}:  # not a link
                continue
            return False  # the path is too long
        link_count += 1
        if link_count > MAX_LINKS or target.startswith("/"):
            return False
        location = location.parent
        steps += target.split("/")[::-1]
    return True


def _check_path(name: str) -> None:
    if name.startswith("/"):  # tarfile would make it relative
        raise ValueError(f"{name!r} has an absolute path")
    if ".." in name.split("/"):
        raise ValueError(f"{name!r} has a path with .. in it")
    if len(os.fsencode(name)) > MAX_PATH_BYTES:
        raise ValueError(f"'{name[:30]}...' has a path of more than {MAX_PATH_BYTES} bytes")


def _check_end(tar: tarfile.TarFile) -> None:
    """Raise `ValueError` if anything but padding follows the last member.

    tarfile treats an unreadable header as the end of the archive, except for the first header.
    """
    while tar.fileobj and (padding := tar.fileobj.read(BUFFER_BYTES)):
        if padding.strip(b"\0"):
            raise ValueError("unreadable header, followed by more data")
