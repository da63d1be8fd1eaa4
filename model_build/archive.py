"""A model repository as one .tar.gz whose bytes depend on its content alone."""

import hashlib
import os
import stat
import tarfile
from dataclasses import dataclass
from pathlib import Path

from isal import igzip_threaded


@dataclass(frozen=True, kw_only=True)
class Archive:
    """A packed repository: sizes in bytes, `sha256` of the .tar.gz in hex."""

    path: Path
    bytes: int
    unpacked_bytes: int
    sha256: str


def pack(folder: Path, to: Path) -> Archive:
    """Pack what lies in `folder` into the gzip tar `to`.

    The same files give the same bytes on every machine with the pinned python-isal: entries are
    sorted, without owner, time or machine-dependent modes. Level 1 of ISA-L has the size of
    gzip's level 6 on float weights, at ten times its speed (bench/pack.py).
    """
    unpacked = 0
    with (
        igzip_threaded.open(  # type: ignore[no-untyped-call]
            to, "wb", compresslevel=1, threads=os.cpu_count() or 1
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
                tar.addfile(entry, file)
    with to.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Archive(path=to, bytes=to.stat().st_size, unpacked_bytes=unpacked, sha256=digest)


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
