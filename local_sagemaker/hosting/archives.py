"""Archives: from the bucket to a folder that Triton can load."""

import errno
import io
import os
import posixpath
import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError
from isal import igzip

from local_sagemaker.errors import ApiError, plain_message

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


BUFFER_BYTES = 1 << 20

# Ours: no repository has as many files, and a volume has a few inodes for each of them.
MEMBERS = 100_000
LINKS = 40  # as Linux follows in a path (path_resolution(7))

# Ours: Linux has 4096 for a whole path, and the folder of an instance comes before a member's.
PATH_BYTES = 1024

# Ours: a path and what else stands in a member's extended headers, which tarfile holds in memory.
HEADER_BYTES = 1 << 20


# Ours: what unpacks to more than the first, and to more than so many times its size, is refused
# before it fills this machine's disk. Zeros unpack to 1032 times theirs (zlib.net/zlib_tech.html).
LEAST_BOMB_BYTES = 1 << 30
BOMB_RATIO = 100


@dataclass(frozen=True)
class S3Prefix:
    """A place in S3; where a multi-model container finds its archives, `key` ends in a slash."""

    bucket: str
    key: str

    @classmethod
    def parse(cls, url: str) -> "S3Prefix":
        """Read a URL such as `s3://bucket/prefix/`."""
        bucket, _, key = url.removeprefix("s3://").partition("/")
        return cls(bucket, key)


class TooLargeError(Exception):
    """An archive does not fit the volume: it unpacks to `size` bytes at least."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"No space left on device: more than {limit} bytes, unpacked")
        self.size = size


@dataclass(frozen=True)
class UnpackedArchive:
    """An archive that was unpacked: which one of those that stood under its key, and its size."""

    etag: str
    size: int


def fetch(
    s3: "S3Client",
    *,
    bucket: str,
    key: str,
    to: Path,
    limit: int,
    known: UnpackedArchive | None = None,
) -> UnpackedArchive:
    """Download `s3://bucket/key` and unpack it into the folder `to`, while it arrives.

    It is unpacked beside `to` and then renamed, so that a folder of that name is a whole model.
    `known` is the archive that was unpacked there before: it stays unless the bucket has another
    one. Raises `ApiError` as InvokeEndpoint does when there is no such object, or no archive in
    it, or one of more than `limit` bytes: its `__cause__` is a `TooLargeError` then.
    """
    try:
        changed = {"IfNoneMatch": known.etag} if known else {}
        answer = s3.get_object(Bucket=bucket, Key=key, **changed)  # type: ignore[arg-type]
    except (ClientError, BotoCoreError) as error:
        if known:  # it is the same still, or the bucket is away: what was unpacked can be loaded
            return known
        reason = error.response["Error"]["Message"] if isinstance(error, ClientError) else error
        raise ApiError(
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
                igzip.IGzipFile(fileobj=answer["Body"]) as unzipped,  # type: ignore[no-untyped-call]
                _Rationed(unzipped) as rationed,
                tarfile.open(fileobj=rationed, mode="r|", bufsize=BUFFER_BYTES) as tar,
            ):
                most = max(LEAST_BOMB_BYTES, BOMB_RATIO * answer["ContentLength"])
                size = _unpack(tar, rationed, unpacked, limit, most)
        except Exception as error:  # tarfile's, isal's, and those of a lost connection
            raise ApiError(
                "ValidationError",
                f"Failed to extract model data s3://{bucket}/{key}: {_reason(error)}",
            ) from error
        shutil.rmtree(to, ignore_errors=True)
        unpacked.rename(to)
    return UnpackedArchive(answer["ETag"], size)


class _Rationed(io.BufferedIOBase):
    """A stream of which no more can be read than was allowed: at first, what a header may have."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream
        self.allow(0)

    def allow(self, size: int) -> None:
        """Let a file of this size be read, and what tarfile reads beyond it for the next header."""
        self._left = size + HEADER_BYTES + BUFFER_BYTES

    def read(self, size: int | None = -1, /) -> bytes:
        """Read a part. Raises `ValueError` where a header is too long."""
        part = self._stream.read(size)
        self._left -= len(part)
        if self._left < 0:
            raise ValueError("a header, or what follows the last file, is larger than it may be")
        return part


def _unpack(tar: tarfile.TarFile, rationed: _Rationed, to: Path, limit: int, most: int) -> int:
    """Unpack what stays inside the folder `to`; return how many bytes the files have.

    There is room for `limit` bytes; an archive with more than `most` is a bomb.
    """
    size = 0
    # Pythons before 3.11.4, such as Debian's, have no filters: `_check_member` is for them, too.
    tar.extraction_filter = getattr(tarfile, "data_filter", None)
    for count, member in enumerate(tar, 1):
        size += member.size
        if size > limit:
            raise TooLargeError(size, limit)
        if size > most:
            raise ValueError(f"a bomb: it unpacks to more than {most} bytes")
        if count > MEMBERS:
            raise ValueError(f"more than {MEMBERS} members")
        _check_member(member, to)
        rationed.allow(member.size)
        tar.extract(member, to)
    rationed.allow(limit)
    _check_end(tar)
    return size


def _reason(error: Exception) -> str:
    """Return the reason of an error, without the local folder that tarfile may name."""
    if member := getattr(error, "tarinfo", None):  # of tarfile's own filter
        return f"{member.name!r} leads out, or has no place in an archive"
    return plain_message(error)


def _check_member(member: tarfile.TarInfo, to: Path) -> None:
    """Raise `ValueError` unless a member stays in the folder `to`, by the links in it so far."""
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
    """Return whether a path stays in `folder` at each of its steps, through the links so far.

    `os.path.realpath` stops to follow links beyond the system's longest path, so that an archive
    can lead it and tarfile's own filter out of the folder (CVE-2025-4517).
    """
    root = current = Path(os.path.realpath(folder))
    steps, followed = path.split("/")[::-1], 0
    if path.startswith("/"):
        return False
    while steps:
        step = steps.pop()
        current = current.parent if step == ".." else current / step
        if not current.is_relative_to(root):
            return False
        try:
            target = str(current.readlink())
        except OSError as error:
            if error.errno in {errno.EINVAL, errno.ENOENT, errno.ENOTDIR}:  # no link
                continue
            return False  # a path that is too long
        followed += 1
        if followed > LINKS or target.startswith("/"):
            return False
        current = current.parent
        steps += target.split("/")[::-1]
    return True


def _check_path(name: str) -> None:
    if name.startswith("/"):  # tarfile would unpack it below the folder
        raise ValueError(f"{name!r} has an absolute path")
    if ".." in name.split("/"):
        raise ValueError(f"{name!r} has a path with .. in it")
    if len(os.fsencode(name)) > PATH_BYTES:
        raise ValueError(f"'{name[:30]}...' has a path of more than {PATH_BYTES} bytes")


def _check_end(tar: tarfile.TarFile) -> None:
    """Raise `ValueError` unless nothing but padding is left.

    tarfile takes a header that it cannot read for the end, unless it is the first.
    """
    while tar.fileobj and (rest := tar.fileobj.read(BUFFER_BYTES)):
        if rest.strip(b"\0"):
            raise ValueError("a header cannot be read, after which more follows")
