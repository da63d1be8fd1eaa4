"""Inputs of a request: from `--input`, or from the model's golden.json."""

import argparse
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from cli.errors import CommandError
from endpoint_client import CatalogEntry, Tensor
from plan import golden
from plan.golden import Golden

Inputs = dict[str, Any]
"""Input name -> value for `EndpointClient.invoke`."""
MAX_SUGGESTED_VALUES = 64
"""Maximum number of values of an input for which an error suggests `--input`: our choice."""


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add `--input`."""
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an input: JSON, such as X=[[1,2]], text, such as TEXT=hello, or X=@FILE for a file's "
        'bytes; @FILE.json has all inputs, as {"X": [[1, 2]]} or as golden.json has them; default: '
        f"those of models/MODEL/{golden.FILE}",
    )


def read_sample(models: Path, model: str) -> Golden | None:
    """Return the golden.json of a model, None if there is none. Raise `InvalidGolden`."""
    path = golden.golden_path(models, model)
    return Golden.read(path) if path else None


def request_inputs(options: list[str], entry: CatalogEntry, sample: Golden | None) -> Inputs:
    """Return the inputs of the `--input` options, or without options those of the sample.

    Raise `CommandError` for invalid options, or if there is no sample.
    """
    if options:
        return _parse_options(options, {tensor.name: tensor for tensor in entry.inputs})
    if sample is None:
        raise CommandError(
            f"{entry.model} has no {golden.FILE} with a request: {_suggestion(entry)}"
        )
    return sample.arrays()


def _parse_options(arguments: Iterable[str], tensors: dict[str, Tensor]) -> Inputs:
    inputs: Inputs = {}
    for argument in arguments:
        result = _parse_option(argument, tensors)
        for name in result.keys() & inputs.keys():
            raise CommandError(f"--input {argument!r}: {name} is set twice: keep one")
        inputs |= result
    return inputs


def _parse_option(argument: str, tensors: dict[str, Tensor]) -> Inputs:
    name, equals, text = argument.partition("=")
    if "@" in (argument, text):
        raise CommandError(f"--input {argument!r}: write a file after @")
    if argument.startswith("@"):
        return _read_json_inputs(Path(argument[1:]), tensors)
    if not equals:
        raise CommandError(f"--input {argument!r}: write NAME=VALUE, or @FILE.json")
    return {name: _parse_value(text, tensors.get(name))}


def _read_json_inputs(path: Path, tensors: dict[str, Tensor]) -> Inputs:
    content = _read_json(path)
    if not isinstance(content, dict):
        raise CommandError(f"{path}: write a JSON object that maps input names to values")
    if "inputs" in content and "inputs" not in tensors:  # as in tests/golden.json
        return Golden.read(path).arrays()
    return {name: _add_batch_axis(value, tensors.get(name)) for name, value in content.items()}


def _read_json(path: Path) -> Any:
    try:
        return json.loads(_read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{path} is not JSON: {error}") from None


def _parse_value(text: str, tensor: Tensor | None) -> Any:
    if text.startswith("@"):
        return _value_of_bytes(_read_bytes(Path(text[1:])), tensor)
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if tensor and tensor.datatype == "BYTES" and not isinstance(value, list):
        value = text  # 12 and true are text
    return _add_batch_axis(value, tensor)


def _add_batch_axis(value: Any, tensor: Tensor | None) -> Any:
    """Return a value with a batch axis; a value without it becomes one row."""
    if isinstance(value, str):
        return [value]
    if tensor and tensor.datatype != "BYTES" and _axis_count(value) == len(tensor.shape) - 1:
        return [value]
    return value


def _axis_count(value: Any) -> int:
    return 1 + _axis_count(value[0]) if isinstance(value, list) and value else int(value == [])


def _value_of_bytes(content: bytes, tensor: Tensor | None) -> Any:
    if tensor and tensor.datatype == "UINT8":
        return np.frombuffer(content, np.uint8)[np.newaxis]
    return [content]


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from None


def _suggestion(entry: CatalogEntry) -> str:
    """Return a valid request as options, or as a file if an input is large."""
    shapes = {tensor.name: [max(size, 1) for size in tensor.shape] for tensor in entry.inputs}
    if all(math.prod(shape) <= MAX_SUGGESTED_VALUES for shape in shapes.values()):
        values = {
            tensor.name: np.full(shapes[tensor.name], example_value(tensor.datatype)).tolist()
            for tensor in entry.inputs
        }
        options = (f"--input '{name}={json.dumps(value)}'" for name, value in values.items())
        return f"write {golden.FILE}, or add {' '.join(options)}"
    inputs = {
        tensor.name: {
            "datatype": tensor.datatype,
            "shape": shapes[tensor.name],
            "data": [example_value(tensor.datatype)],
        }
        for tensor in entry.inputs
    }
    return f"write {golden.FILE}, such as {json.dumps({'inputs': inputs})}"


def example_value(datatype: str) -> Any:
    """Return a value of a datatype."""
    return {"BYTES": "text", "BOOL": False}.get(datatype, 0)
