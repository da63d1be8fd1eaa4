"""PyTorch to ONNX, and the proof that both answer alike."""

import importlib.util
import itertools
import logging
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from model_build.errors import BuildError, GateFailed
from model_build.recipe import Gate, Onnx
from model_build.torch_model import TorchModel

SEED = 20230711
"""Seeds the inputs on which a gate compares; the figures in a manifest can be had again with it."""


@dataclass(frozen=True, kw_only=True)
class GateReport:
    """What a correctness gate saw: the largest difference to PyTorch over all compared shapes."""

    max_absolute_difference: float
    allowed: float
    shapes: list[dict[str, int]]


def export(step: Onnx, *, model_folder: Path, weights: Path | None, to: Path) -> GateReport:
    """Write the ONNX file `to` and return how closely it answers like the module it came from.

    The bytes depend on the weights and on the pinned versions alone: what torch notes about the
    exporting machine (stack traces with paths) is taken out. Raises `GateFailed` when the two
    differ by more than the step's gate allows, and `BuildError` when the source cannot be used.
    """
    model = _load(step.source, model_folder)(weights)
    if not isinstance(model, TorchModel):
        raise BuildError(f"{model_folder / step.source}: return a model_build.TorchModel")
    _write(model, opset=step.opset, to=to)
    return _compare(model, to, step.gate)


def _load(source: str, model_folder: Path) -> Callable[[Path | None], object]:
    file, _, function = source.partition(":")
    path = model_folder / file
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise BuildError(f"{path} does not exist: `source` names a Python file beside the recipe")
    os.environ.setdefault("TQDM_DISABLE", "1")  # libraries' bars would tear our progress lines
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        exporter: Callable[[Path | None], object] = getattr(module, function)
    except AttributeError:
        raise BuildError(f"{path} has no function {function}") from None
    return exporter


def _write(model: TorchModel, *, opset: int, to: Path) -> None:
    import onnx
    import torch

    dimensions = {
        name: torch.export.Dim(name, min=low, max=high)
        for name, (low, high) in model.axis_bounds().items()
    }
    sizes = {name: max(low, 2) for name, (low, _) in model.axis_bounds().items()}
    inputs = model.sample(sizes, torch.Generator().manual_seed(SEED))
    _silence_exporter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model.module,
            tuple(inputs[name] for name in model.inputs),
            to,
            input_names=list(model.inputs),
            output_names=list(model.outputs),
            dynamic_shapes=tuple(
                {position: dimensions[axis] for position, axis in enumerate(model.axes[name])}
                for name in model.inputs
            ),
            opset_version=opset,
            external_data=False,
            verbose=False,
        )
    exported = onnx.load(to)
    _strip_traces(exported)
    onnx.save(exported, to)


def _silence_exporter() -> None:
    """The exporter warns on standard error about a torchvision that nothing here needs."""
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)


def _strip_traces(exported: "onnx.ModelProto") -> None:  # type: ignore[name-defined]  # noqa: F821
    """Remove torch's notes on where each node came from: they hold paths of this machine."""
    graph = exported.graph
    entries = itertools.chain(graph.node, graph.input, graph.output, graph.value_info)
    for entry in (exported, graph, *exported.functions, *graph.initializer, *entries):
        if hasattr(entry, "metadata_props"):
            del entry.metadata_props[:]
        entry.doc_string = ""


def _compare(model: TorchModel, onnx_file: Path, gate: Gate) -> GateReport:
    import onnxruntime
    import torch

    session = onnxruntime.InferenceSession(onnx_file, providers=["CPUExecutionProvider"])
    generator = torch.Generator().manual_seed(SEED)
    shapes, worst = _shapes(model), 0.0
    for sizes in shapes:
        inputs = model.sample(sizes, generator)
        with torch.inference_mode():
            expected = model.module(*(inputs[name] for name in model.inputs))
        expected = expected if isinstance(expected, tuple) else (expected,)
        feed = {name: value.numpy() for name, value in inputs.items()}
        for ours, theirs in zip(session.run(model.outputs, feed), expected, strict=True):
            difference = np.abs(ours.astype(np.float64) - theirs.numpy().astype(np.float64))
            worst = max(worst, float(difference.max()))
    if not worst <= gate.max_absolute_difference:  # also refuses NaN
        raise GateFailed(
            f"{onnx_file.name} differs from PyTorch by {worst:.2e}, the recipe's gate allows "
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
