"""Where TensorRT keeps how fast its kernels were, so that the next build need not try them."""

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PREFIX = "timing-caches/"


class TimingCache(Protocol):
    """Bytes under a name that says for which GPU and TensorRT they are."""

    def load(self, name: str) -> bytes:
        """Return what was stored, or nothing."""

    def store(self, name: str, content: bytes) -> None:
        """Keep `content`."""


class FolderTimingCache:
    """A timing cache in a folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, name: str) -> bytes:
        """Return what was stored, or nothing."""
        path = self._folder / name
        return path.read_bytes() if path.is_file() else b""

    def store(self, name: str, content: bytes) -> None:
        """Keep `content`; another process sees all of it or nothing."""
        self._folder.mkdir(parents=True, exist_ok=True)
        partial = self._folder / f".{name}.partial"
        partial.write_bytes(content)
        partial.replace(self._folder / name)


class BucketTimingCache:
    """A timing cache in the model bucket, beside the endpoints' prefixes."""

    def __init__(self, s3: "S3Client", bucket: str) -> None:
        self._s3, self._bucket = s3, bucket

    def load(self, name: str) -> bytes:
        """Return what was stored, or nothing."""
        try:
            found = self._s3.get_object(Bucket=self._bucket, Key=PREFIX + name)
        except self._s3.exceptions.NoSuchKey:
            return b""
        return found["Body"].read()

    def store(self, name: str, content: bytes) -> None:
        """Keep `content`. Two builds that end together keep one's: it is a cache."""
        self._s3.put_object(Bucket=self._bucket, Key=PREFIX + name, Body=content)
