"""How each file that a recipe names is made."""

import shutil
from pathlib import Path

from model_build import (
    dali_export,
    onnx_export,
    python_packages,
    tensorflow_export,
    tensorrt_export,
    torchscript_export,
)
from model_build.gate import GateReport
from model_build.recipe import (
    Copy,
    Dali,
    GraphDef,
    Onnx,
    PythonPackages,
    Step,
    TensorFlowOnnx,
    TensorRt,
    TorchScript,
)
from model_build.workshop import Workshop

Gates = list[tuple[str, GateReport]]
"""What was compared with what, and how it came out."""


def make(step: Step, to: Path, workshop: Workshop) -> Gates:
    """Make the file or folder `to`. Raises `BuildError`, `GateFailed` among them."""
    gates: Gates = []
    match step:
        case Copy():
            shutil.copyfile((workshop.weights or workshop.model_folder) / step.weights, to)
        case PythonPackages():
            python_packages.install(
                workshop.model_folder / step.requirements, to=to, python=workshop.triton_python
            )
        case TorchScript():
            gates = [torchscript_export.export(step, to=to, workshop=workshop)]
        case Onnx():
            gates = [onnx_export.export(step, to=to, workshop=workshop)]
        case TensorRt():
            gates = tensorrt_export.export(step, to=to, workshop=workshop)
        case TensorFlowOnnx() | GraphDef():
            gates = [tensorflow_export.export(step, to=to, workshop=workshop)]
        case Dali():
            dali_export.export(step, to=to, workshop=workshop)
    for what, report in gates:
        workshop.progress(
            f"{to.name}: {what} differ by {report.max_absolute_difference:.1e} at most "
            f"({report.allowed:.0e} allowed)"
        )
    return gates
