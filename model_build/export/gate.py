"""The proof that a converted model answers like what it was converted from."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tritonclient.utils import np_to_triton_dtype

from model_build.errors import GateFailed
from model_build.export.torch_model import TorchModel
from model_build.recipe import Gate

if TYPE_CHECKING:
    import torch

SEED = 20230711
"""Seeds the inputs on which a gate compares; the figures in a manifest can be had again with it."""

FRACTIONS = (0.0, 0.1, 0.5, 1.0)
"""Where between the smallest sizes of the axes and the largest a gate compares."""

Array = npt.NDArray[Any]
Sizes = dict[str, int]
"""A size for each dynamic axis."""
Run = Callable[[dict[str, "torch.Tensor"]], list[Array]]
"""Runs a form of the model: inputs by name to outputs, in the order of `TorchModel.outputs`."""


class Answered(NamedTuple):
    """An output of an answer: KServe v2 datatype, and shape with the batch axis."""

    name: str
    datatype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Form:
    """A form of a model: what people call it, and how it is run."""

    name: str
    run: Run


@dataclass(frozen=True, kw_only=True)
class GateReport:
    """What a correctness gate saw over all compared shapes.

    `max_relative_difference` is relative to the largest value of the same output. `answers` has
    what the converted model answered, case by case.
    """

    max_absolute_difference: float
    max_relative_difference: float
    allowed: float
    shapes: list[Sizes]
    answers: list[list[Answered]]

    def figures(self) -> dict[str, Any]:
        """Return what a manifest has of it."""
        figures = asdict(self)
        del figures["answers"]
        return figures


def compare(
    converted: Form, origin: Form, model: TorchModel, gate: Gate, *, shapes: list[Sizes]
) -> GateReport:
    """Run both forms on seeded inputs. Raises `GateFailed` naming the two."""
    differences = Differences(converted.name, origin.name)
    for sizes, inputs in zip(shapes, sampled(model, shapes), strict=True):
        pairs = zip(converted.run(inputs), origin.run(inputs), model.outputs, strict=True)
        for ours, theirs, output in pairs:
            differences.add(ours, theirs, output=output, inputs=str(sizes))
    return differences.report(gate, shapes=shapes)


def sampled(model: TorchModel, shapes: list[Sizes]) -> Iterator[dict[str, "torch.Tensor"]]:
    """Yield the seeded inputs of each of the shapes."""
    import torch

    generator = torch.Generator().manual_seed(SEED)
    for sizes in shapes:
        yield model.sample(sizes, generator)


class Differences:
    """Collects how far two forms are apart."""

    def __init__(self, converted: str, origin: str) -> None:
        self._converted, self._origin = converted, origin
        self._absolute = self._relative = 0.0
        self._answers: dict[str, list[Answered]] = {}

    def add(self, ours: Array, theirs: Array, *, output: str, inputs: str) -> None:
        """Count one output in. Raises `GateFailed` for other shapes."""
        if ours.shape != theirs.shape:
            raise GateFailed(
                f'{self._converted} gives "{output}" with shape {list(ours.shape)}, '
                f"{self._origin} with {list(theirs.shape)}, for inputs of {inputs}: nothing is "
                "published. Fix the export"
            )
        answered = Answered(output, np_to_triton_dtype(ours.dtype), ours.shape)
        self._answers.setdefault(inputs, []).append(answered)
        exact = theirs.astype(np.float64)
        # NaN stays through all of these, and is refused below.
        worst = float(np.max(np.abs(ours.astype(np.float64) - exact), initial=0.0))
        scale = float(np.max(np.abs(exact), initial=np.finfo(np.float64).tiny))
        self._absolute = float(np.maximum(self._absolute, worst))
        self._relative = float(np.maximum(self._relative, worst / scale))

    def report(self, gate: Gate, *, shapes: list[Sizes]) -> GateReport:
        """Return what was seen. Raises `GateFailed` where it is more than the gate allows."""
        if not self._absolute <= gate.max_absolute_difference:
            raise GateFailed(
                f"{self._converted} differs from {self._origin} by {self._absolute:.2e}, the "
                f"recipe's gate allows {gate.max_absolute_difference:.2e}: nothing is published. "
                "Fix the export, or widen `gate` in the recipe and say why"
            )
        return GateReport(
            max_absolute_difference=self._absolute,
            max_relative_difference=self._relative,
            allowed=gate.max_absolute_difference,
            shapes=shapes,
            answers=list(self._answers.values()),
        )


def pytorch(model: TorchModel) -> Form:
    """Return the module itself."""

    def run(inputs: dict[str, "torch.Tensor"]) -> list[Array]:
        import torch

        with torch.inference_mode():
            outputs = model.module(*(inputs[name] for name in model.inputs))
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return [output.numpy() for output in outputs]

    return Form(name="PyTorch", run=run)


def shapes_of(model: TorchModel) -> list[Sizes]:
    """Return the smallest sizes, the largest, and some between."""
    return [model.sizes_at(fraction) for fraction in FRACTIONS]
