"""ONNX files, and exports of PyTorch models as ONNX files."""

from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

import platform_facts
from model_build.export.step import RecipeStep, StepContext, StepOutput
from model_build.file_tensors import compare
from model_build.findings import Problems
from model_build.format import Format
from model_build.formats.onnx.export import export_onnx
from model_build.formats.onnx.graph import read_graph
from model_build.recipe_values import Gate, Source
from model_build.repository import Model
from model_build.target import newer_release_hint

_FIRST_BF16_RELEASE = "26.03"
_ACCELERATORS = {
    "gpu_execution_accelerator": ("tensorrt", "cuda"),
    "cpu_execution_accelerator": ("openvino",),
}
_PRECISIONS = ("FP32", "FP16", "BF16", "INT8")


Opset = Annotated[int, Field(ge=10)]
"""The version of ONNX's operators. torch.export writes 18 and newer ones; older ones are written by
torch's TorchScript exporter, which is deprecated."""


class Onnx(RecipeStep):
    """An ONNX file of a PyTorch model.

    The function `source` gets the folder of the verified weights and returns a
    `model_build.TorchModel`. It runs with the builder's packages.
    """

    backend: ClassVar[str] = "onnxruntime"
    to: Literal["onnx"]
    source: Source
    opset: Opset
    gate: Gate

    def generate(self, output_path: Path, context: StepContext) -> StepOutput:
        """Write the ONNX file."""
        report = export_onnx(
            self.source, opset=self.opset, gate=self.gate, to=output_path, context=context
        )
        return StepOutput([("ONNX and PyTorch", report)])


def onnx_accelerators(model: Model) -> Problems:
    """Accelerators and precisions are those of the backend; no CPU reads those for GPUs.

    Source: onnxruntime_backend src/onnxruntime.cc (ModelState::LoadModel).
    """
    accelerators = model.config.optimization.execution_accelerators
    for kind, names in _ACCELERATORS.items():
        for index, accelerator in enumerate(getattr(accelerators, kind)):
            precision = accelerator.parameters.get("precision_mode", "FP32")
            location = model.field_location("optimization", "execution_accelerators", kind, index)
            if accelerator.name not in names:
                fix = f"write {' or '.join(names)}"
                yield location, f'"{accelerator.name}" is no accelerator of the backend: {fix}'
            elif accelerator.name == "tensorrt" and precision not in _PRECISIONS:
                yield location, f'precision_mode "{precision}": write {" or ".join(_PRECISIONS)}'


def onnx_tensors(model: Model, path: Path) -> Problems:
    """Names, data types and dims match the file's graph, whose first axis is the batch axis.

    If a list of tensors is not declared, the backend completes it, and gives a model without
    `max_batch_size` one if the first axis of every tensor is dynamic.

    Source: onnxruntime_backend src/onnxruntime.cc (ValidateInputs, ValidateOutputs,
    AutoCompleteConfig, AutoCompleteMaxBatch).
    """
    file = model.relative_path(path)
    graph = read_graph(path)
    if graph is None:
        yield model.file_location(file), "is not an ONNX file: build or copy it again"
        return
    config, tensors = model.config, (*graph.inputs, *graph.outputs)
    is_complete = (config.input or config.batch_input) and config.output
    has_batch_axes = all(tensor.dims and tensor.dims[0] == -1 for tensor in tensors)
    batches = config.max_batch_size > 0 or (not is_complete and has_batch_axes)
    yield from compare(model, "input", graph.inputs, file=file, batches=batches)
    yield from compare(model, "output", graph.outputs, file=file, batches=batches)
    optional = {tensor.name: tensor.optional for tensor in graph.inputs}
    for index, tensor in enumerate(model.config.input):
        if tensor.optional and model.config.max_batch_size:
            problem = "is optional, which needs max_batch_size: 0: remove optional"
        elif tensor.optional != optional.get(tensor.name, tensor.optional):
            problem = f"has no value in {file}: remove optional"
            if not tensor.optional:
                problem = f"has a value in {file}: write optional: true, or leave the input out"
        else:
            continue
        yield model.field_location("input", index), f'input "{tensor.name}" {problem}'


def onnx_versions(release: platform_facts.Release, model: Model, path: Path) -> Problems:
    """The release's ONNX Runtime supports the file's opset and IR version, if known.

    ONNX Runtime rejects newer versions when it loads the file.
    """
    graph = read_graph(path)
    for field, label, version, fix in (
        (
            ("onnx_opset", "opset", graph.opset, "export with opset: {}"),
            ("onnx_ir", "IR version", graph.ir, "save it with ir_version = {}"),
        )
        if graph
        else ()
    ):
        limit = getattr(release, field)
        if limit is not None and version > limit:
            yield (
                model.file_location(model.relative_path(path)),
                f"has {label} {version}; ONNX Runtime {release.onnxruntime} of Triton "
                f"{release.name} knows up to {limit}: {fix.format(limit)} or lower"
                + newer_release_hint(partial(_supports, field, version)),
            )


def onnx_bf16(release: platform_facts.Release, model: Model, path: Path) -> Problems:
    """BF16 inputs and outputs need Triton 26.03.

    Source: onnxruntime_backend src/onnxruntime_utils.cc, ConvertFromOnnxDataType at r25.09, r26.03.
    """
    graph = read_graph(path) if release.name < _FIRST_BF16_RELEASE else None
    for tensor in (*graph.inputs, *graph.outputs) if graph else ():
        if tensor.data_type == "TYPE_BF16":
            yield (
                model.file_location(model.relative_path(path)),
                f'"{tensor.name}" is BF16, which the ONNX backend of Triton {release.name} does '
                f"not have: export it as FP32 or FP16, or choose Triton {_FIRST_BF16_RELEASE} or "
                "newer",
            )


def _supports(field: str, version: int, release: platform_facts.Release) -> bool:
    return (getattr(release, field) or 0) >= version


FORMAT = Format(
    backend="onnxruntime",
    file="model.onnx",
    steps=(Onnx,),
    config_rules=(onnx_accelerators,),
    file_rules=(onnx_tensors,),
    release_rules=(onnx_versions, onnx_bf16),
)
