"""The proof that a converted model answers like the framework's own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from model_build.errors import GateFailed
from model_build.recipe import Gate
from model_build.torch_model import TorchModel

if TYPE_CHECKING:
    import torch

SEED = 20230711
"""Seeds the inputs on which a gate compares; the figures in a manifest can be had again with it."""

Array = npt.NDArray[Any]
Run = Callable[[dict[str, "torch.Tensor"]], list[Array]]
"""Runs the converted model: inputs by name to outputs, in the order of `TorchModel.outputs`."""


@dataclass(frozen=True, kw_only=True)
class GateReport:
    """What a correctness gate saw: the largest difference to PyTorch over all compared shapes."""

    max_absolute_difference: float
    allowed: float
    shapes: list[dict[str, int]]


def compare(model: TorchModel, run: Run, gate: Gate, *, file: str) -> GateReport:
    """Run both on seeded inputs of several shapes. Raises `GateFailed` naming `file`."""
    import torch

    generator = torch.Generator().manual_seed(SEED)
    shapes, worst = _shapes(model), 0.0
    for sizes in shapes:
        inputs = model.sample(sizes, generator)
        with torch.inference_mode():
            expected = model.module(*(inputs[name] for name in model.inputs))
        expected = expected if isinstance(expected, tuple) else (expected,)
        for ours, theirs, output in zip(run(inputs), expected, model.outputs, strict=True):
            if ours.shape != tuple(theirs.shape):
                raise GateFailed(
                    f'{file} gives "{output}" with shape {list(ours.shape)}, PyTorch with '
                    f"{list(theirs.shape)}, for inputs of {sizes}: nothing is published. Mend the "
                    "export"
                )
            difference = np.abs(ours.astype(np.float64) - theirs.numpy().astype(np.float64))
            worst = float(np.max(difference, initial=worst))  # NaN stays, and is refused below
    if not worst <= gate.max_absolute_difference:
        raise GateFailed(
            f"{file} differs from PyTorch by {worst:.2e}, the recipe's gate allows "
            f"{gate.max_absolute_difference:.2e}: nothing is published. Mend the export, or widen "
            "`gate` in the recipe and say why"
        )
    return GateReport(
        max_absolute_difference=worst, allowed=gate.max_absolute_difference, shapes=shapes
    )


def _shapes(model: TorchModel) -> list[dict[str, int]]:
    """The smallest sizes, the largest, and some between."""
    bounds = model.axis_bounds()
    fractions = (0.0, 0.1, 0.5, 1.0)
    return [
        {name: round(low + fraction * (high - low)) for name, (low, high) in bounds.items()}
        for fraction in fractions
    ]
