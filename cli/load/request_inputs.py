"""Inputs that a load test sends: those of golden.json, JSON files of a folder, or generated."""

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
VARYING = 8
"""Size of the dimensions after the batch that vary: the same in all inputs, which may have to
agree."""
MAX_INTEGER = 10
"""Integers are less than this: they may be indices, of which most models have that many."""
DRAWN = 1000
"""Requests that are drawn at a time."""


@dataclass(frozen=True)
class Request:
    """An invocation to send."""

    target: ModelTarget
    inputs: inputs.Inputs


def requests_of(
    target: ModelTarget,
    entry: CatalogEntry,
    option: str | None,
    models: Path,
    random: np.random.Generator,
) -> list[Request]:
    """Return the different requests to a model, in turns of which a load consists.

    `option` is a folder, `generated`, or None: the inputs of the model's expected outputs, or
    generated ones where it has none. Raises `CommandError`.
    """
    if option and option != GENERATED:
        files = _files(Path(option), target.model)
        return [Request(target, inputs.chosen([f"@{file}"], entry, None)) for file in files]
    sample = None if option else inputs.sample(models, target.model)
    if sample:
        return [Request(target, inputs.chosen([], entry, sample))]
    values = {tensor.name: _generated(tensor, random) for tensor in entry.inputs}
    return [Request(target, values)]


def drawn(
    mix: Mix, requests: Mapping[ModelTarget, list[Request]], random: np.random.Generator
) -> Iterator[Request]:
    """Yield requests without end: the model by its share, one of its requests at random."""
    targets, shares = list(mix), list(mix.values())
    while True:
        for number in random.choice(len(targets), size=DRAWN, p=shares):
            options = requests[targets[number]]
            yield options[random.integers(len(options))]


def _files(folder: Path, model: str) -> list[Path]:
    """Return the files for a model: in the folder of its name, if there is one."""
    own = folder / model
    files = sorted((own if own.is_dir() else folder).glob("*.json"))
    if not files:
        raise CommandError(f"{folder}: no *.json with the inputs of a request to {model}: add one")
    return files


def _generated(tensor: Tensor, random: np.random.Generator) -> Any:
    """Return random values; where the first dimension varies it is the batch, of one row."""
    first, *rest = tensor.shape
    shape = [max(first, 1), *(VARYING if size == -1 else size for size in rest)]
    if tensor.datatype == "BYTES":
        return np.resize(np.array([b"text"], object), shape)
    dtype = np.dtype(triton_to_np_dtype(tensor.datatype))
    if dtype.kind in "iub":
        return random.integers(2 if dtype.kind == "b" else MAX_INTEGER, size=shape).astype(dtype)
    return random.random(shape).astype(dtype)
