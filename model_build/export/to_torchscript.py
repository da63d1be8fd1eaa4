"""PyTorch to TorchScript, for Triton's pytorch_libtorch platform."""

import io
import warnings
import zipfile
from pathlib import Path
from typing import Any

from model_build.export import gate, torch_source
from model_build.export.step_context import StepContext
from model_build.export.torch_model import TorchModel
from model_build.recipe import TorchScript

_OF_THIS_MACHINE = (".debug_pkl", "serialization_id")
"""Members of a TorchScript file that hold paths of the exporting machine, or follow from them."""


def export(step: TorchScript, *, to: Path, context: StepContext) -> tuple[str, gate.GateReport]:
    """Trace the module into the file `to` and return how closely that answers like the module.

    The bytes depend on the weights and on the pinned torch alone. Raises `GateFailed` and
    `BuildError` as the ONNX export does.
    """
    import torch

    model = torch_source.load(step.source, context)
    with warnings.catch_warnings():  # torch.jit is deprecated, and what Triton's platform takes
        warnings.simplefilter("ignore")
        to.write_bytes(_without_paths(_traced(model)))
        traced = torch.jit.load(to, map_location="cpu")  # type: ignore[no-untyped-call]

    report = gate.compare(
        gate.Form(name=to.name, run=_runner(traced, model)),
        gate.pytorch(model),
        model,
        step.gate,
        shapes=gate.shapes_of(model),
    )
    return "TorchScript and PyTorch", report


def _runner(traced: Any, model: TorchModel) -> gate.Run:
    import torch

    def run(inputs: dict[str, Any]) -> list[gate.Array]:
        with torch.inference_mode():
            outputs = traced(*(inputs[name] for name in model.inputs))
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return [output.numpy() for output in outputs]

    return run


def _traced(model: TorchModel) -> bytes:
    import torch

    sizes = {name: low for name, (low, _) in model.axis_bounds().items()}
    inputs = model.sample(sizes, torch.Generator().manual_seed(gate.SEED))
    with torch.inference_mode():
        example = tuple(inputs[name] for name in model.inputs)
        traced = torch.jit.trace(model.module, example)  # type: ignore[no-untyped-call]
    buffer = io.BytesIO()
    torch.jit.save(traced, buffer)
    return buffer.getvalue()


def _without_paths(content: bytes) -> bytes:
    """Return the same zip without what torch needs for error messages only."""
    stripped = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as source,
        zipfile.ZipFile(stripped, "w", zipfile.ZIP_STORED) as target,
    ):
        for name in source.namelist():
            if not name.endswith(_OF_THIS_MACHINE):
                target.writestr(zipfile.ZipInfo(name), source.read(name))
    return stripped.getvalue()
