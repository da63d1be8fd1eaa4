"""The files of a job and of its result: tensors as raw bytes, with their SHA-256."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any, NamedTuple

from .errors import StepError

READ_BYTES = 1024 * 1024
PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

DATATYPES = {
    "float32": 4, "float16": 2, "int64": 8, "int32": 4, "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip
"""Data types that a gate can compare, by numpy's names -> bytes of a value."""


class RawTensor(NamedTuple):
    """A tensor in a file: little-endian, row by row. `datatype` is numpy's name, such as int32."""

    name: str
    datatype: str
    shape: list[int]
    file: str
    sha256: str


def read_tensor(written: dict[str, Any]) -> RawTensor:
    """Return the tensor of a document. Raise `ValueError` unless its file has a plain name.

    Others write documents into the bucket, and files are read and written by the names in them: a
    path would lead out of the document's folder.
    """
    read = RawTensor(**written)
    if not PLAIN_NAME.fullmatch(read.file):
        raise ValueError(f"{read.file!r} is not a plain file name")
    return read


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hex."""
    total = hashlib.sha256()
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(READ_BYTES), b""):
            total.update(chunk)
    return total.hexdigest()


def require(path: Path, expected: str) -> None:
    """Raise `StepError` unless a file is there with the content that it must have."""
    if not path.is_file():
        raise StepError(f"{path} is missing: the step that wrote this folder did not end")
    if sha256(path) != expected:
        raise StepError(f"{path} does not match its SHA-256: it was changed after it was written")
