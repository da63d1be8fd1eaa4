"""The gate: a converted model's outputs must be close to the original's."""

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

SIZE_FRACTIONS = (0.0, 0.1, 0.5, 1.0)
"""Sizes that a gate compares: 0 is an axis's smallest size, 1 its largest."""

Sizes = dict[str, int]
"""Sizes of the dynamic axes, by name."""


class OutputTensor(NamedTuple):
    """An output of a model: KServe v2 datatype, and shape with the batch axis."""

    name: str
    datatype: str
    shape: tuple[int, ...]


class GateCase(NamedTuple):
    """The outputs of the converted model and of the original for the same inputs."""

    sizes: Sizes
    converted: Arrays
    original: Arrays


@dataclass(frozen=True, kw_only=True)
class GateReport:
    """The measurements of a gate over all cases.

    `max_relative_difference` is relative to the largest value of the same output. `output_tensors`
    are the converted model's outputs per case.
    """

    max_absolute_difference: float
    max_relative_difference: float
    allowed: float
    shapes: list[Sizes]
    output_tensors: list[list[OutputTensor]]

    def manifest_entry(self) -> dict[str, Any]:
        """Return the measurements for a manifest."""
        return {name: value for name, value in asdict(self).items() if name != "output_tensors"}


def compare(
    cases: Iterable[GateCase], gate: Gate, *, converted_name: str, original_name: str
) -> GateReport:
    """Return the differences. Raise `GateFailed` if they exceed the gate or shapes differ.

    The names of the two models are for messages.
    """
    absolute = relative = 0.0
    shapes: list[Sizes] = []
    output_tensors: list[list[OutputTensor]] = []
    for case in cases:
        for name, expected in case.original.items():
            actual = case.converted[name]
            if actual.shape != expected.shape:
                raise GateFailed(
                    f'{converted_name} gives "{name}" with shape {list(actual.shape)}, '
                    f"{original_name} with {list(expected.shape)}, for inputs of {case.sizes}: "
                    "nothing is published. Fix the export"
                )
            exact = expected.astype(np.float64)
            # NaN propagates through these calculations and is rejected below.
            worst = float(np.max(np.abs(actual.astype(np.float64) - exact), initial=0.0))
            scale = float(np.max(np.abs(exact), initial=np.finfo(np.float64).tiny))
            absolute = float(np.maximum(absolute, worst))
            relative = float(np.maximum(relative, worst / scale))
        shapes.append(case.sizes)
        output_tensors.append(
            [
                OutputTensor(name, np_to_triton_dtype(array.dtype), array.shape)
                for name, array in case.converted.items()
            ]
        )
    if not absolute <= gate.max_absolute_difference:
        raise GateFailed(
            f"{converted_name} differs from {original_name} by {absolute:.2e}, the recipe's gate "
            f"allows {gate.max_absolute_difference:.2e}: nothing is published. Fix the export, "
            "or widen `gate` in the recipe and give the reason"
        )
    return GateReport(
        max_absolute_difference=absolute,
        max_relative_difference=relative,
        allowed=gate.max_absolute_difference,
        shapes=shapes,
        output_tensors=output_tensors,
    )


def sample_inputs(model: TorchModel, shapes: list[Sizes]) -> Iterator[dict[str, "torch.Tensor"]]:
    """Yield seeded inputs for each of the shapes."""
    import torch

    generator = torch.Generator().manual_seed(SEED)
    for sizes in shapes:
        yield model.sample(sizes, generator)


def compared_sizes(model: TorchModel) -> list[Sizes]:
    """Return the smallest sizes, the largest, and sizes between them."""
    return [model.sizes_at(fraction) for fraction in SIZE_FRACTIONS]


def read_outputs(path: Path) -> tuple[list[Sizes], dict[str, list[Arrays]]]:
    """Return the sizes of the cases in a worker's .npz, and the cases' tensors by kind.

    The names of the arrays are CASE/KIND/TENSOR, and `shapes`, which contains JSON.
    """
    with np.load(path) as file:
        arrays = dict(file)
    shapes: list[Sizes] = json.loads(str(arrays.pop("shapes")))
    tensors: dict[str, list[Arrays]] = {}
    for name, array in arrays.items():
        case, kind, tensor = name.split("/", 2)
        cases = tensors.setdefault(kind, [{} for _ in shapes])
        cases[int(case)][tensor] = array
    return shapes, tensors
