"""Inputs of a load test: from golden.json, from JSON files in a folder, or generated."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tritonclient.utils import triton_to_np_dtype

from cli import inputs
from cli.errors import CommandError
from cli.load.mix import Mix, ModelTarget
from endpoint_client import CatalogEntry, Tensor

GENERATED = "generated"
VARIABLE_SIZE = 8
"""Size of variable dimensions after the batch; equal in all inputs, which may have to match."""
MAX_INTEGER = 10
"""Exclusive maximum of integers, small because they may be indices."""
REQUESTS_PER_DRAW = 1000
"""Number of requests that are drawn at a time."""


@dataclass(frozen=True)
class Request:
    """A request of a load test."""

    target: ModelTarget
    inputs: inputs.Inputs


def model_requests(
    target: ModelTarget,
    entry: CatalogEntry,
    option: str | None,
    models: Path,
    random: np.random.Generator,
) -> list[Request]:
    """Return the different requests to a model.

    `option` is a folder, `generated`, or None for the inputs of golden.json, or else generated
    inputs. Raise `CommandError`.
    """
    if option and option != GENERATED:
        files = _input_files(Path(option), target.model)
        return [Request(target, inputs.request_inputs([f"@{file}"], entry, None)) for file in files]
    sample = None if option else inputs.read_sample(models, target.model)
    if sample:
        return [Request(target, inputs.request_inputs([], entry, sample))]
    values = {tensor.name: _generate_values(tensor, random) for tensor in entry.inputs}
    return [Request(target, values)]


def random_requests(
    mix: Mix, requests: Mapping[ModelTarget, list[Request]], random: np.random.Generator
) -> Iterator[Request]:
    """Yield random requests without end; each model gets its share of the requests."""
    targets, shares = list(mix), list(mix.values())
    while True:
        for number in random.choice(len(targets), size=REQUESTS_PER_DRAW, p=shares):
            options = requests[targets[number]]
            yield options[random.integers(len(options))]


def _input_files(folder: Path, model: str) -> list[Path]:
    """Return the files for a model, from the subfolder with its name if there is one."""
    subfolder = folder / model
    files = sorted((subfolder if subfolder.is_dir() else folder).glob("*.json"))
    if not files:
        raise CommandError(f"{folder}: no *.json file with inputs for {model}: add one")
    return files


def _generate_values(tensor: Tensor, random: np.random.Generator) -> Any:
    """Return random values; a variable first dimension is a batch of one row."""
    batch, *sizes = tensor.shape
    shape = [max(batch, 1), *(VARIABLE_SIZE if size == -1 else size for size in sizes)]
    if tensor.datatype == "BYTES":
        return np.resize(np.array([b"text"], object), shape)
    dtype = np.dtype(triton_to_np_dtype(tensor.datatype))
    if dtype.kind in "iub":
        return random.integers(2 if dtype.kind == "b" else MAX_INTEGER, size=shape).astype(dtype)
    return random.random(shape).astype(dtype)
