"""The digest of a model's folder, which names its archive before it is built."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

BUILD_FORMAT = 2
"""Raise it when a change to the builder alters archives: every model is then rebuilt. A change that
alters no output leaves it, and rebuilds nothing."""

VERSION_DIGITS = 12
"""Hexadecimal digits of a digest in names: 48 bits tell a model's versions apart."""

IGNORED = ("__pycache__", "*.pyc", ".*", "tests")
"""Glob patterns of names that are no part of a model, at any depth."""


def files(model_folder: Path) -> Iterator[Path]:
    """Yield the files that make up a model, sorted by their path inside the folder."""
    yield from sorted(
        path
        for path in model_folder.rglob("*")
        if path.is_file() and not is_ignored(path.relative_to(model_folder))
    )


def is_ignored(relative: Path) -> bool:
    """Whether a path inside a model's folder is no part of the model."""
    return any(Path(part).match(pattern) for part in relative.parts for pattern in IGNORED)


def digest_of(model_folder: Path, *, alternative: str | None = None) -> str:
    """Return SHA-256 over `BUILD_FORMAT` and every file's path and content, as 64 hex digits.

    `alternative` is the one of its recipe's that is meant, and counts too.

    The same folder has the same digest on every machine: neither times, modes nor the folder's own
    place count. Modes do not reach the archive either, since not every unzip on the way keeps them.
    """
    total = hashlib.sha256(f"build format {BUILD_FORMAT}\n".encode())
    if alternative:
        total.update(f"alternative {alternative}\n".encode())
    for path in files(model_folder):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{content} {path.relative_to(model_folder).as_posix()}\n".encode())
    return total.hexdigest()
