"""The gate: a converted model must answer like its origin."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from tritonclient.utils import np_to_triton_dtype

from model_build.engines.engine_job import Arrays
from model_build.errors import GateFailed
from model_build.export.torch_model import TorchModel
from model_build.recipe_values import Gate

if TYPE_CHECKING:
    import torch

SEED = 20230711
"""Seed of the inputs that a gate compares; makes the measurements in a manifest reproducible."""

FRACTIONS = (0.0, 0.1, 0.5, 1.0)
"""Sizes that a gate compares: 0 is an axis's smallest size, 1 its largest."""

Sizes = dict[str, int]
"""A size for each dynamic axis."""


class OutputTensor(NamedTuple):
    """An output of an answer: KServe v2 datatype, and shape with the batch axis."""

    name: str
    datatype: str
    shape: tuple[int, ...]


class Case(NamedTuple):
    """The answers of two forms of a model to the same inputs, whose axes have `sizes`."""

    sizes: Sizes
    converted: Arrays
    origin: Arrays


@dataclass(frozen=True, kw_only=True)
class GateReport:
    """The measurements of a gate over all compared shapes.

    `max_relative_difference` is relative to the largest value of the same output. `answers` has
    what the converted model answered, case by case.
    """

    max_absolute_difference: float
    max_relative_difference: float
    allowed: float
    shapes: list[Sizes]
    answers: list[list[OutputTensor]]

    def manifest_entry(self) -> dict[str, Any]:
        """Return the gate's manifest_entry for a manifest."""
        manifest_entry = asdict(self)
        del manifest_entry["answers"]
        return manifest_entry


def compare(cases: Iterable[Case], gate: Gate, *, converted: str, origin: str) -> GateReport:
    """Return how far the answers differ. Raises `GateFailed` for other shapes, or too far."""
    absolute = relative = 0.0
    shapes: list[Sizes] = []
    answers: list[list[OutputTensor]] = []
    for case in cases:
        for name, theirs in case.origin.items():
            ours = case.converted[name]
            if ours.shape != theirs.shape:
                raise GateFailed(
                    f'{converted} gives "{name}" with shape {list(ours.shape)}, {origin} with '
                    f"{list(theirs.shape)}, for inputs of {case.sizes}: nothing is published. Fix "
                    "the export"
                )
            exact = theirs.astype(np.float64)
            # NaN stays through all of these, and is refused below.
            worst = float(np.max(np.abs(ours.astype(np.float64) - exact), initial=0.0))
            scale = float(np.max(np.abs(exact), initial=np.finfo(np.float64).tiny))
            absolute = float(np.maximum(absolute, worst))
            relative = float(np.maximum(relative, worst / scale))
        shapes.append(case.sizes)
        answers.append(
            [
                OutputTensor(name, np_to_triton_dtype(array.dtype), array.shape)
                for name, array in case.converted.items()
            ]
        )
    if not absolute <= gate.max_absolute_difference:
        raise GateFailed(
            f"{converted} differs from {origin} by {absolute:.2e}, the recipe's gate allows "
            f"{gate.max_absolute_difference:.2e}: nothing is published. Fix the export, or widen "
            "`gate` in the recipe and say why"
        )
    return GateReport(
        max_absolute_difference=absolute,
        max_relative_difference=relative,
        allowed=gate.max_absolute_difference,
        shapes=shapes,
        answers=answers,
    )


def sample_inputs(model: TorchModel, shapes: list[Sizes]) -> Iterator[dict[str, "torch.Tensor"]]:
    """Yield the seeded inputs of each of the shapes."""
    import torch

    generator = torch.Generator().manual_seed(SEED)
    for sizes in shapes:
        yield model.sample(sizes, generator)


def compared_sizes(model: TorchModel) -> list[Sizes]:
    """Return the smallest sizes, the largest, and some between."""
    return [model.sizes_at(fraction) for fraction in FRACTIONS]


def read_answers(path: Path) -> tuple[list[Sizes], dict[str, list[Arrays]]]:
    """Read an .npz of a worker: the sizes of each case, and the tensors of each by their kind.

    Its arrays are called CASE/KIND/TENSOR; `shapes` is JSON.
    """
    with np.load(path) as kept:
        arrays = dict(kept)
    shapes: list[Sizes] = json.loads(str(arrays.pop("shapes")))
    tensors: dict[str, list[Arrays]] = {}
    for name, array in arrays.items():
        case, kind, tensor = name.split("/", 2)
        cases = tensors.setdefault(kind, [{} for _ in shapes])
        cases[int(case)][tensor] = array
    return shapes, tensors
