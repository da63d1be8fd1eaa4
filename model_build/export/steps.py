"""How each file that a recipe names is made."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from model_build.export import (
    from_keras,
    python_packages,
    to_dali,
    to_onnx,
    to_tensorrt,
    to_torchscript,
)
from model_build.export.kept_exports import Gates, exported
from model_build.export.packed_imports import import_once
from model_build.export.step_context import StepContext
from model_build.gpu_step.result import Result
from model_build.native_libraries import unmet_lines
from model_build.progress import WARNING
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

_EXPORTERS: dict[type[Step], ModuleType] = {
    TorchScript: to_torchscript,
    Onnx: to_onnx,
    TensorFlowOnnx: from_keras,
    GraphDef: from_keras,
    Dali: to_dali,
}
"""The module whose `export` makes the file of a step, and returns its gate or None."""


@dataclass(frozen=True)
class Made:
    """How a file came to be: its gates, and of a TensorRT plan the result of the GPU step."""

    gates: Gates
    engine: Result | None = None


def make(step: Step, to: Path, context: StepContext) -> Made:
    """Make the file or folder `to`. Raises `BuildError`, `GateFailed` among them."""
    made = _make(step, to, context)
    for what, report in made.gates:
        context.progress(
            f"{to.name}: {what} differ by {report.max_absolute_difference:.1e} at most "
            f"({report.allowed:.0e} allowed)"
        )
    return made


def _make(step: Step, to: Path, context: StepContext) -> Made:
    gates: Gates = []
    match step:
        case Copy():
            shutil.copyfile((context.weights or context.model_folder) / step.weights, to)
        case PythonPackages():
            requirements = context.model_folder / step.requirements
            python = context.triton_python
            python_packages.install(requirements, to=to, python=python)
            import_once(
                to.parent, requirements=requirements, python=python, progress=context.progress
            )
            for line in unmet_lines(to):
                context.progress(f"{WARNING} {line}")
        case TensorRt():
            return Made(*to_tensorrt.export(step, to=to, context=context))
        case _:
            gates = exported(step, to, context, lambda: _export(step, to, context))
    return Made(gates)


def _export(step: Step, to: Path, context: StepContext) -> Gates:
    gate = _EXPORTERS[type(step)].export(step, to=to, context=context)
    return [gate] if gate else []
