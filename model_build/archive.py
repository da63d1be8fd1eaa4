"""Reproducible .tar.gz archives of model repositories."""

import hashlib
import os
import stat
import tarfile
from dataclasses import dataclass
from pathlib import Path

from isal import igzip_threaded

SUFFIX = ".tar.gz"


def file_name(model: str, version: str) -> str:
    """Return the file name of an archive, which is also the `TargetModel` of an invocation."""
    return f"{model}-{version}{SUFFIX}"


@dataclass(frozen=True, kw_only=True)
class Archive:
    """A packed repository: sizes in bytes, `sha256` of the .tar.gz in hex."""

    bytes: int
    unpacked_bytes: int
    sha256: str


def pack(folder: Path, to: Path) -> Archive:
    """Write the content of `folder` to the gzip tar `to`.

    The same files give the same bytes on every machine with the pinned python-isal: entries are
    sorted, without owner, time or machine-dependent modes. Level 1 of ISA-L has the size of gzip's
    level 6 on float weights, at ten times its speed (tools/bench/build.py).
    """
    unpacked_bytes = 0
    with (
        igzip_threaded.open(  # type: ignore[no-untyped-call]
            to, "wb", compresslevel=1, threads=os.cpu_count() or 1
        ) as compressed,
        tarfile.open(fileobj=compressed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(folder.rglob("*")):
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            if path.is_dir():
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(entry)
                continue
            entry.size = path.stat().st_size
            entry.mode = 0o755 if _is_executable(path) else 0o644
            unpacked_bytes += entry.size
            with path.open("rb") as file:
                tar.addfile(entry, file)
    with to.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return Archive(bytes=to.stat().st_size, unpacked_bytes=unpacked_bytes, sha256=sha256)


def _is_executable(path: Path) -> bool:
    """Return whether the owner may run the file, the only permission that git stores."""
    return bool(path.stat().st_mode & stat.S_IXUSR)
