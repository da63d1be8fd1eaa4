"""Files of jobs and results: tensors as raw bytes, verified by SHA-256."""

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
"""The size in bytes of the supported data types, by numpy's names."""


class RawTensor(NamedTuple):
    """A tensor in a file, little-endian and row-major; `datatype` is numpy's, such as int32."""

    name: str
    datatype: str
    shape: list[int]
    file: str
    sha256: str


def read_tensor(fields: dict[str, Any]) -> RawTensor:
    """Return a tensor from JSON fields. Raise `ValueError` unless its file has a plain name.

    The JSON is not trusted, since publishers can write it: a path could lead out of the folder.
    """
    tensor = RawTensor(**fields)
    if not PLAIN_NAME.fullmatch(tensor.file):
        raise ValueError(f"{tensor.file!r} is not a plain file name")
    return tensor


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(READ_BYTES), b""):
            digest.update(chunk)
    return digest.hexdigest()


def check_sha256(path: Path, expected: str) -> None:
    """Raise `StepError` unless a file exists with the expected SHA-256."""
    if not path.is_file():
        raise StepError(f"{path} is missing: the step that wrote this folder did not finish")
    if sha256(path) != expected:
        raise StepError(f"{path} does not match its SHA-256: it was changed after it was written")
