"""The digest of a model's folder, which is part of the archive's name."""

import hashlib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

BUILD_FORMAT = 2
"""Increment it if a change to the builder changes archives: every model is then rebuilt."""

VERSION_DIGITS = 12
"""Number of hexadecimal digits of a version: 48 bits make the versions of a model unique."""

IGNORED = ("__pycache__", "*.pyc", ".*", "tests")
"""Glob patterns of file and folder names that do not belong to a model, at any depth."""


def model_files(model_folder: Path) -> Iterator[Path]:
    """Yield the files of a model, sorted by their path inside the folder."""
    depth = len(model_folder.parts)
    yield from sorted(
        path
        for path in model_folder.rglob("*")
        if not _are_ignored(path.parts[depth:]) and path.is_file()
    )


def is_ignored(relative: Path) -> bool:
    """Return whether a path inside a model's folder does not belong to the model."""
    return _are_ignored(relative.parts)


def _are_ignored(parts: tuple[str, ...]) -> bool:
    return any(fnmatchcase(part, pattern) for part in parts for pattern in IGNORED)


def compute_digest(model_folder: Path, *, alternative: str | None = None) -> str:
    """Return the SHA-256 of `BUILD_FORMAT`, `alternative` and the files' paths and contents.

    The digest has 64 hex digits. Times, modes and the folder's own path do not affect it, so the
    same folder has the same digest on every machine.
    """
    digest = empty_digest()
    if alternative:
        digest.update(f"alternative {alternative}\n".encode())
    for path in model_files(model_folder):
        digest.update(file_line(model_folder, path))
    return digest.hexdigest()


def empty_digest() -> "hashlib._Hash":
    """Return the hash to which the lines of a model's files are added."""
    return hashlib.sha256(f"build format {BUILD_FORMAT}\n".encode())


def file_line(model_folder: Path, path: Path) -> bytes:
    """Return the line of a file: its path and content."""
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    name = path.as_posix().removeprefix(f"{model_folder.as_posix()}/")  # relative_to is slow
    return f"{content} {name}\n".encode()
