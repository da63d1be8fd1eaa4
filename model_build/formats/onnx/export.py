"""PyTorch to ONNX."""

import logging
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from model_build.engines.engine_job import Arrays
from model_build.errors import BuildError
from model_build.export import torch_source
from model_build.export.gate import SEED, Case, GateReport, compare, compared_sizes, sample_inputs
from model_build.export.step import StepContext
from model_build.export.torch_model import TorchModel
from model_build.recipe_values import Gate

_SHOWN = 600
"""Characters of another library's error that are shown."""


def export_onnx(
    source: str, *, opset: int, gate: Gate, to: Path, context: StepContext
) -> GateReport:
    """Write the ONNX file `to` and return how closely it answers like the module it came from.

    The bytes depend on the weights and on the pinned versions alone: what torch notes about the
    exporting machine (stack traces with paths, what its own build is for) is taken out. Raises
    `GateFailed` when the two differ by more than the gate allows, and `BuildError` when the source
    cannot be used.
    """
    model = torch_source.load(source, context)
    shapes = compared_sizes(model)
    try:
        _write(model, opset=opset, to=to)
        inputs = list(sample_arrays(model, shapes))
        pairs = zip(
            shapes, answers(to, inputs, model.outputs), _module_answers(model, shapes), strict=True
        )
        return compare((Case(*pair) for pair in pairs), gate, converted=to.name, origin="PyTorch")
    except BuildError:
        raise
    except Exception as error:  # torch's and ONNX Runtime's have no type of their own
        reason = " ".join(str(error).split())[:_SHOWN]
        raise BuildError(
            f"{context.model_folder / source} cannot be exported to ONNX as it is: "
            f"{type(error).__name__}: {reason}. Do the TorchModel's inputs, outputs, axes and "
            "sample fit its module?"
        ) from error


def answers(path: Path, cases: Iterable[Arrays], outputs: tuple[str, ...]) -> Iterator[Arrays]:
    """Yield what ONNX Runtime, on the CPU, makes of each case, by the outputs' names."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for case in cases:
        yield dict(zip(outputs, session.run(outputs, case), strict=True))


def sample_arrays(model: TorchModel, shapes: list[dict[str, int]]) -> Iterator[Arrays]:
    """Yield the seeded inputs of each of the shapes, as arrays."""
    for inputs in sample_inputs(model, shapes):
        yield {name: inputs[name].numpy() for name in model.inputs}


def _module_answers(model: TorchModel, shapes: list[dict[str, int]]) -> Iterator[Arrays]:
    import torch

    for inputs in sample_inputs(model, shapes):
        with torch.inference_mode():
            outputs = model.module(*(inputs[name] for name in model.inputs))
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        yield {name: tensor.numpy() for name, tensor in zip(model.outputs, outputs, strict=True)}


def _write(model: TorchModel, *, opset: int, to: Path) -> None:
    import onnx
    import torch

    dimensions = {
        name: torch.export.Dim(name, min=low, max=high)
        for name, (low, high) in model.axis_bounds().items()
    }
    sizes = {name: max(low, 2) for name, (low, _) in model.axis_bounds().items()}
    inputs = model.sample(sizes, torch.Generator().manual_seed(SEED))
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
