"""The export of PyTorch models as ONNX files."""

import logging
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from model_build.engines.engine_job import Arrays
from model_build.errors import BuildError
from model_build.export import torch_source
from model_build.export.gate import (
    SEED,
    GateCase,
    GateReport,
    compare,
    compared_sizes,
    sample_inputs,
)
from model_build.export.step import StepContext
from model_build.export.torch_model import TorchModel
from model_build.recipe_values import Gate

FIRST_OF_TORCH_EXPORT = 18
"""The oldest opset that `torch.onnx.export(dynamo=True)` writes."""
_MAX_REASON = 600
"""Maximum number of characters of a library's error in a message."""


def export_onnx(
    source: str, *, opset: int, gate: Gate, to: Path, context: StepContext
) -> GateReport:
    """Write the ONNX file `to` and return the comparison with the PyTorch module.

    The file depends only on the weights and on the pinned versions: data about the machine (stack
    traces with paths, torch's build) is removed. Raise `GateFailed` if the outputs differ too
    much, and `BuildError` for problems with the source.
    """
    model = torch_source.load(source, context)
    shapes = compared_sizes(model)
    try:
        _write_onnx(model, opset=opset, to=to)
        inputs = list(sample_arrays(model, shapes))
        outputs = run_onnx(to, inputs, model.outputs)
        cases = map(GateCase, shapes, outputs, _run_module(model, shapes))
        return compare(cases, gate, converted_name=to.name, original_name="PyTorch")
    except BuildError:
        raise
    except Exception as error:  # torch and ONNX Runtime raise errors without a common type
        reason = " ".join(str(error).split())[:_MAX_REASON]
        raise BuildError(
            f"{context.model_folder / source} cannot be exported to ONNX as it is: "
            f"{type(error).__name__}: {reason}. Do the TorchModel's inputs, outputs, axes and "
            "sample fit its module?"
        ) from error


def run_onnx(path: Path, cases: Iterable[Arrays], outputs: tuple[str, ...]) -> Iterator[Arrays]:
    """Yield the outputs of ONNX Runtime on the CPU for each case, by name."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for case in cases:
        yield dict(zip(outputs, session.run(outputs, case), strict=True))


def sample_arrays(model: TorchModel, shapes: list[dict[str, int]]) -> Iterator[Arrays]:
    """Yield seeded inputs for each of the shapes, as arrays."""
    for inputs in sample_inputs(model, shapes):
        yield {name: inputs[name].numpy() for name in model.inputs}


def _run_module(model: TorchModel, shapes: list[dict[str, int]]) -> Iterator[Arrays]:
    import torch

    for inputs in sample_inputs(model, shapes):
        with torch.inference_mode():
            outputs = model.module(*(inputs[name] for name in model.inputs))
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        yield {name: tensor.numpy() for name, tensor in zip(model.outputs, outputs, strict=True)}


def _write_onnx(model: TorchModel, *, opset: int, to: Path) -> None:
    import onnx
    import torch

    names = {name: dict(enumerate(model.axes[name])) for name in model.inputs}
    if opset < FIRST_OF_TORCH_EXPORT:
        dynamic: dict[str, Any] = {"dynamo": False, "dynamic_axes": names}
    else:
        dimensions = {
            name: torch.export.Dim(name, min=low, max=high)
            for name, (low, high) in model.axis_bounds().items()
        }
        shapes = [
            {position: dimensions[axis] for position, axis in axes.items()}
            for axes in names.values()
        ]
        dynamic = {"dynamo": True, "dynamic_shapes": tuple(shapes)}
    sizes = {name: max(low, 2) for name, (low, _) in model.axis_bounds().items()}
    inputs = model.sample(sizes, torch.Generator().manual_seed(SEED))
    # The exporter logs irrelevant warnings: missing torchvision, and constants that it keeps.
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
            opset_version=opset,
            **dynamic,
            external_data=False,
            verbose=False,
        )
    exported = onnx.load(to)
    _remove_stack_traces(exported)
    # The lowest possible IR version, for older releases of ONNX Runtime.
    exported.ir_version = onnx.helper.find_min_ir_version_for(
        exported.opset_import, ignore_unknown=True
    )
    # The local version (+cpu, +cu126) depends on the machine.
    exported.producer_version = exported.producer_version.partition("+")[0]
    onnx.save(exported, to)


def _remove_stack_traces(message: Any) -> None:
    """Remove stack traces, which have paths of this machine, from a protobuf message.

    Nodes are also in functions, and in the graphs of If and Loop.
    """
    for name in ("metadata_props", "doc_string"):
        if name in message.DESCRIPTOR.fields_by_name:
            message.ClearField(name)
    for field, value in message.ListFields():
        if field.message_type:
            for inner_message in [value] if isinstance(value, Message) else value:
                _remove_stack_traces(inner_message)
