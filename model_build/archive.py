"""A model repository as one .tar.gz whose bytes depend on its content alone."""

import hashlib
import os
import stat
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from isal import igzip_threaded

from model_build.progress import Counter

SUFFIX = ".tar.gz"


def file_name(model: str, version: str) -> str:
    """Return what the archive of one version of a model is called, in a bucket and by clients."""
    return f"{model}-{version}{SUFFIX}"


class Sink(Protocol):
    """What an archive can be written to."""

    def write(self, chunk: bytes, /) -> int:
        """Take some bytes; return how many."""


@dataclass(frozen=True, kw_only=True)
class Archive:
    """A packed repository: sizes in bytes, `sha256` of the .tar.gz in hex."""

    bytes: int
    unpacked_bytes: int
    sha256: str


def unpacked_bytes(folder: Path) -> int:
    """Return the size of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def pack(folder: Path, to: Sink, *, packed: Counter = lambda _: None) -> Archive:
    """Write what lies in `folder` to `to` as a gzip tar, and hash it on the way.

    `packed` is told the number of bytes of each piece of a file that was packed. The same files
    give the same bytes on every machine with the pinned python-isal: entries are sorted, without
    owner, time or machine-dependent modes. Level 1 of ISA-L has the size of gzip's level 6 on float
    weights, at ten times its speed (bench/pack.py).
    """
    hashed = _Hashed(to)
    unpacked = 0
    with (
        igzip_threaded.open(  # type: ignore[no-untyped-call]
            hashed, "wb", compresslevel=1, threads=os.cpu_count() or 1
        ) as compressed,
        tarfile.open(fileobj=compressed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(folder.rglob("*")):
            entry = _entry(path, path.relative_to(folder).as_posix())
            if path.is_dir():
                tar.addfile(entry)
                continue
            unpacked += entry.size
            with path.open("rb") as file:
                tar.addfile(entry, _Counted(file, packed))
    return Archive(bytes=hashed.size, unpacked_bytes=unpacked, sha256=hashed.sha256.hexdigest())


class _Hashed:
    """Passes bytes on, and hashes and counts them."""

    def __init__(self, to: Sink) -> None:
        self.sha256, self.size = hashlib.sha256(), 0
        self._to = to

    def write(self, chunk: bytes) -> int:
        self.sha256.update(chunk)
        self.size += len(chunk)
        return self._to.write(chunk)

    def flush(self) -> None:
        """Nothing is kept back."""

    def close(self) -> None:
        """What `to` is, is its owner's to close."""


class _Counted:
    """Reads a file and tells how far."""

    def __init__(self, file: BinaryIO, read: Counter) -> None:
        self._file, self._read = file, read

    def read(self, size: int = -1, /) -> bytes:
        chunk = self._file.read(size)
        self._read(len(chunk))
        return chunk


def _entry(path: Path, name: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    if path.is_dir():
        entry.type = tarfile.DIRTYPE
        entry.mode = 0o755
    else:
        entry.size = path.stat().st_size
        entry.mode = 0o755 if _is_executable(path) else 0o644
    return entry


def _is_executable(path: Path) -> bool:
    """Whether a file's owner may run it, which is what git keeps of a mode."""
    return bool(path.stat().st_mode & stat.S_IXUSR)
