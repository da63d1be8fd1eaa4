"""Models that load in no time, for tests about what happens around a model."""

import io
import tarfile
from dataclasses import dataclass
from pathlib import Path

from tests.unit.local_aws.conftest import eventually

CONFIG = """
backend: "python"
max_batch_size: 8
input [ { name: "X" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] } ]
"""
TIMES = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        given = [pb_utils.get_input_tensor_by_name(it, "X").as_numpy() for it in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", it * FACTOR)]) for it in given]
"""
PLUS_ONE = TIMES.replace("* FACTOR", "+ 1")
CANNOT_LOAD = (
    "class TritonPythonModel:\n",
    "class TritonPythonModel:\n    def initialize(self, args):\n        raise OSError\n\n",
)
"""An edit that makes a model fail when it is loaded."""

EXIT = "import os; os._exit(1)"
PAUSE = """
import time
from pathlib import Path


def pause():
    Path("GATE.reached").touch()
    while not Path("GATE.open").exists():
        time.sleep(0.01)
"""

ENSEMBLE = """
platform: "ensemble"
max_batch_size: 8
input [ { name: "X" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] } ]
ensemble_scheduling { step [
  { model_name: "times" model_version: -1
    input_map { key: "X" value: "X" } output_map { key: "Y" value: "BETWEEN" } },
  { model_name: "plus" model_version: -1
    input_map { key: "X" value: "BETWEEN" } output_map { key: "Y" value: "Y" } }
] }
"""

LINE_RECIPE = """
description: A line through the origin, exported by PyTorch
files:
  line/1/model.onnx:
    to: onnx
    source: export.py:line
    opset: 18
    gate: { max_absolute_difference: 1.0e-6 }
"""
LINE_CONFIG = """
backend: "onnxruntime"
max_batch_size: 8
input [ { name: "INPUT__0" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ 1 ] } ]
"""
LINE_EXPORT = '''
"""A line."""

import torch

from model_build import TorchModel


def line(_):
    return TorchModel(
        module=torch.nn.Linear(1, 1),
        inputs={"INPUT__0": torch.float32},
        outputs=("OUTPUT__0",),
        axes={"INPUT__0": {"batch": (1, 4)}},
        sample=lambda sizes, generator: {
            "INPUT__0": torch.randn(sizes["batch"], 1, generator=generator)
        },
    )
'''


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write texts below a model's folder by their paths; return the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def write_python(folder: Path, code: str) -> Path:
    """Write a complete repository of one Python model, named as its folder."""
    name = folder.name
    return write(folder, {f"{name}/config.pbtxt": CONFIG, f"{name}/1/model.py": code})


def write_line(folder: Path) -> Path:
    """Write `line`, an ONNX model that a build exports and holds against PyTorch."""
    return write(
        folder,
        {
            "recipe.yaml": LINE_RECIPE,
            "export.py": LINE_EXPORT,
            "line/config.pbtxt": LINE_CONFIG,
        },
    )


def write_ensemble(folder: Path) -> Path:
    """Write an ensemble of two Python models: twice X, and one more."""
    return write(
        folder,
        {
            "recipe.yaml": "description: Twice X, and one more\n",
            f"{folder.name}/config.pbtxt": ENSEMBLE,
            "times/config.pbtxt": CONFIG,
            "times/1/model.py": TIMES.replace("FACTOR", "2"),
            "plus/config.pbtxt": CONFIG,
            "plus/1/model.py": PLUS_ONE,
        },
    )


def pack(folder: Path) -> bytes:
    """Return the archive of a repository."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(folder, arcname=".")
    return packed.getvalue()


def pack_python(folder: Path, code: str) -> bytes:
    """Return the archive of one Python model, which is named as the folder it is written to."""
    return pack(write_python(folder, code))


def times(factor: int, *, initialize: str = "", execute: str = "") -> str:
    """Return a model that multiplies, with one more statement at the beginning of its methods."""
    code = TIMES.replace("FACTOR", str(factor))
    if initialize:
        code += f"\n    def initialize(self, args):\n        {initialize}\n"
    return code.replace("        given", f"        {execute}\n        given") if execute else code


@dataclass(frozen=True)
class Gate:
    """Where models stop until it is opened; `path` is of files that do not exist yet."""

    path: Path

    def stops(self, factor: int, *, at: str) -> str:
        """Return a model that multiplies, and stops in one of its methods."""
        return PAUSE.replace("GATE", str(self.path)) + times(factor, **{at: "pause()"})

    def wait_until_reached(self) -> None:
        """Return when a model stands before it."""
        eventually(self.path.with_name(f"{self.path.name}.reached").exists)

    def open(self) -> None:
        """Let all models through, now and later."""
        self.path.with_name(f"{self.path.name}.open").touch()
