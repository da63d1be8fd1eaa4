"""Inputs of a request: `--input`, or the sample file beside the model."""

import argparse
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from cli.errors import CommandError
from endpoint_client import CatalogEntry, Tensor
from release.delivery import golden
from release.delivery.golden import Golden

Inputs = dict[str, Any]
"""Input names to what `EndpointClient.invoke` takes."""
WRITTEN = 64
"""Values of an input that a person may write on a command line."""


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add `--input`."""
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an input: JSON, such as X=[[1,2]], text, such as TEXT=hello, or X=@FILE for a file's "
        "bytes; @FILE.json has all inputs, by their names; default: those of "
        f"models/MODEL/{golden.FILE}",
    )


def sample(models: Path, model: str) -> Golden | None:
    """Return what is beside a model to ask it, and must be answered; None where nobody wrote it.

    Raises `NotDelivered` for a file that cannot be read.
    """
    path = golden.golden_path(models, model)
    return Golden.read(path) if path else None


def chosen(written: list[str], entry: CatalogEntry, beside: Golden | None) -> Inputs:
    """Return the inputs that were written, or those of the sample. Raises `CommandError`."""
    if written:
        return _written(written, {each.name: each for each in entry.inputs})
    if beside is None:
        raise CommandError(
            f"{entry.model} has no {golden.FILE} with a request: {_suggestion(entry)}"
        )
    return {name: each.array() for name, each in beside.inputs.items()}


def _written(arguments: Iterable[str], tensors: dict[str, Tensor]) -> Inputs:
    inputs: Inputs = {}
    for argument in arguments:
        result = _one(argument, tensors)
        for name in result.keys() & inputs.keys():
            raise CommandError(f"--input {argument!r}: {name} is given twice: keep one")
        inputs |= result
    return inputs


def _one(argument: str, tensors: dict[str, Tensor]) -> Inputs:
    name, equals, text = argument.partition("=")
    if "@" in (argument, text):
        raise CommandError(f"--input {argument!r}: write a file after @")
    if argument.startswith("@"):
        return _of_file(Path(argument[1:]), tensors)
    if not equals:
        raise CommandError(f"--input {argument!r}: write NAME=VALUE, or @FILE.json")
    return {name: _value(text, tensors.get(name))}


def _of_file(path: Path, tensors: dict[str, Tensor]) -> Inputs:
    content = _json(path)
    if not isinstance(content, dict):
        raise CommandError(f"{path}: write an object, names of inputs to their values")
    return {name: _rows(value, tensors.get(name)) for name, value in content.items()}


def _json(path: Path) -> Any:
    try:
        return json.loads(_bytes(path))
    except ValueError as error:
        raise CommandError(f"{path} is not JSON: {error}") from None


def _value(text: str, tensor: Tensor | None) -> Any:
    if text.startswith("@"):
        return _of_bytes(_bytes(Path(text[1:])), tensor)
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if tensor and tensor.datatype == "BYTES" and not isinstance(value, list):
        value = text  # 12 and true are text, too
    return _rows(value, tensor)


def _rows(value: Any, tensor: Tensor | None) -> Any:
    """Return a value with its batch axis: what has one axis too few is one row."""
    if isinstance(value, str):
        return [value]
    if tensor and tensor.datatype != "BYTES" and _axes(value) == len(tensor.shape) - 1:
        return [value]
    return value


def _axes(value: Any) -> int:
    return 1 + _axes(value[0]) if isinstance(value, list) and value else int(value == [])


def _of_bytes(content: bytes, tensor: Tensor | None) -> Any:
    if tensor and tensor.datatype == "UINT8":
        return np.frombuffer(content, np.uint8)[np.newaxis]
    return [content]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from None


def _suggestion(entry: CatalogEntry) -> str:
    """Return a request that the model's signature accepts: options, or a file for large inputs."""
    shapes = {tensor.name: [max(size, 1) for size in tensor.shape] for tensor in entry.inputs}
    if all(math.prod(shape) <= WRITTEN for shape in shapes.values()):
        values = {
            tensor.name: np.full(shapes[tensor.name], _example(tensor)).tolist()
            for tensor in entry.inputs
        }
        options = (f"--input '{name}={json.dumps(value)}'" for name, value in values.items())
        return f"write it, or add {' '.join(options)}"
    inputs = {
        tensor.name: {
            "datatype": tensor.datatype,
            "shape": shapes[tensor.name],
            "data": [_example(tensor)],
        }
        for tensor in entry.inputs
    }
    return f"write it, such as {json.dumps({'inputs': inputs})}"


def _example(tensor: Tensor) -> Any:
    return {"BYTES": "text", "BOOL": False}.get(tensor.datatype, 0)
