"""PyTorch to ONNX."""

import logging
import warnings
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from model_build.engines.engine_job import Arrays
from model_build.errors import BuildError
from model_build.export import gate, torch_source
from model_build.export.step_context import StepContext
from model_build.export.torch_model import TorchModel
from model_build.recipe import Onnx

_SAID = 600
"""How much of another library's error is told, in characters."""


def export(step: Onnx, *, to: Path, context: StepContext) -> tuple[str, gate.GateReport]:
    """Write the ONNX file `to` and return how closely it answers like the module it came from.

    The bytes depend on the weights and on the pinned versions alone: what torch notes about the
    exporting machine (stack traces with paths, what its own build is for) is taken out. Raises
    `GateFailed` when the two differ by more than the step's gate allows, and `BuildError` when the
    source cannot be used.
    """
    model = torch_source.load(step.source, context)
    try:
        _write(model, opset=step.opset, to=to)
        report = gate.compare(
            onnx_runtime(to, model),
            gate.pytorch(model),
            model,
            step.gate,
            shapes=gate.shapes_of(model),
        )
    except BuildError:
        raise
    except Exception as error:  # torch's and ONNX Runtime's have no type of their own
        said = " ".join(str(error).split())[:_SAID]
        raise BuildError(
            f"{context.model_folder / step.source} cannot be exported to ONNX as it is: "
            f"{type(error).__name__}: {said}. Do the TorchModel's inputs, outputs, axes and sample "
            "fit its module?"
        ) from error
    return "ONNX and PyTorch", report


def onnx_runtime(path: Path, model: TorchModel) -> gate.Form:
    """Return an exported file as ONNX Runtime runs it on the CPU."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])

    def run(inputs: dict[str, Any]) -> list[gate.Array]:
        feed = {name: value.numpy() for name, value in inputs.items()}
        outputs: list[gate.Array] = session.run(model.outputs, feed)
        return outputs

    return gate.Form(name=path.name, run=run)


def answers(path: Path, cases: list[Arrays], outputs: tuple[str, ...]) -> list[Arrays]:
    """Return what ONNX Runtime makes of each case, by the outputs' names."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return [dict(zip(outputs, session.run(outputs, case), strict=True)) for case in cases]


def _write(model: TorchModel, *, opset: int, to: Path) -> None:
    import onnx
    import torch

    dimensions = {
        name: torch.export.Dim(name, min=low, max=high)
        for name, (low, high) in model.axis_bounds().items()
    }
    sizes = {name: max(low, 2) for name, (low, _) in model.axis_bounds().items()}
    inputs = model.sample(sizes, torch.Generator().manual_seed(gate.SEED))
    # The exporter warns of a torchvision that nothing needs, and of constants it does not fold.
    for name in ("torch.onnx", "onnxscript"):
        logging.getLogger(name).setLevel(logging.ERROR)
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
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    exported = onnx.load(to)
    _strip_traces(exported)
    # The oldest of the releases that know the operators read the file too.
    exported.ir_version = onnx.helper.find_min_ir_version_for(
        exported.opset_import, ignore_unknown=True
    )
    exported.producer_version = exported.producer_version.partition("+")[0]  # for a CPU, or a GPU
    onnx.save(exported, to)


def _strip_traces(part: Any) -> None:
    """Remove torch's notes on where each node came from: they hold paths of this machine.

    Nodes are also in functions, and in the graphs that an If or a Loop has as attributes.
    """
    for note in ("metadata_props", "doc_string"):
        if note in part.DESCRIPTOR.fields_by_name:
            part.ClearField(note)
    for field, value in part.ListFields():
        if field.message_type:
            for inner in [value] if isinstance(value, Message) else value:
                _strip_traces(inner)
