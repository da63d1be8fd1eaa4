"""Reproducible archives: two clones and two processes build the same bytes."""

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.processes import run_program
from tests.torch_source import torch_source

MODELS = Path(__file__).parent
RECIPE = """
description: A file from every exporter
files:
  onnx/1/model.onnx:
    to: onnx
    source: export_torch.py:attention
    opset: 18
    gate: &gate { max_absolute_difference: 1.0e-4 }
  traced/1/model.pt:
    to: torchscript
    source: export_torch.py:attention
    environment: torch.txt
    gate: *gate
  keras/1/model.onnx:
    to: tensorflow-onnx
    source: export_keras.py:convolution
    environment: requirements.txt
    opset: 17
    gate: *gate
  dali/1/model.dali:
    to: dali
    source: pipeline.py:preprocess
    environment: requirements.txt
"""
ATTENTION = """
class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x):
        return self.layer(x.reshape(-1, 4, 8)).flatten(1) + x
"""
KERAS = """
import keras


def convolution(_):
    picture = keras.Input((32,), name="X")
    folded = keras.layers.Conv1D(8, 3, padding="same")(keras.layers.Reshape((4, 8))(picture))
    scaled = keras.layers.Flatten()(keras.layers.BatchNormalization()(folded))
    return keras.Model(picture, keras.layers.Add(name="Y")([scaled, picture]))
"""
CONFIG = """
backend: "{backend}"
max_batch_size: 4
input {{ name: "X" data_type: TYPE_FP32 dims: [ 32 ] }}
output {{ name: "{output}" data_type: TYPE_FP32 dims: [ 32 ] }}
"""
ENSEMBLE = """
platform: "ensemble"
max_batch_size: 4
input { name: "X" data_type: TYPE_FP32 dims: [ 32 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ 32 ] }
ensemble_scheduling {
  step {
    model_name: "onnx" model_version: -1
    input_map { key: "X" value: "X" } output_map { key: "Y" value: "A" }
  }
  step {
    model_name: "traced" model_version: -1
    input_map { key: "X" value: "A" } output_map { key: "Y__0" value: "B" }
  }
  step {
    model_name: "keras" model_version: -1
    input_map { key: "X" value: "B" } output_map { key: "Y" value: "Y" }
  }
}
"""
BUILD = """
import sys
from pathlib import Path

from model_build.__main__ import main
from model_build.export import export_cache

export_cache.FOLDER = Path(sys.argv[1])  # an empty cache
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture
def every_exporter(tmp_path: Path) -> Path:
    """A small model folder with one file per exporter."""
    inception = MODELS / "inception"
    texts = {
        "recipe.yaml": RECIPE,
        "export_torch.py": torch_source(
            "attention", "Attention().eval()", features=32, classes=ATTENTION
        ),
        "export_keras.py": KERAS,
        "pipeline.py": (inception / "pipeline.py").read_text(),
        "requirements.txt": (inception / "requirements-export.txt").read_text(),
        "torch.txt": (MODELS / "resnet50" / "requirements-export.txt").read_text(),
        "onnx/config.pbtxt": CONFIG.format(backend="onnxruntime", output="Y"),
        "traced/config.pbtxt": CONFIG.format(backend="pytorch", output="Y__0"),
        "keras/config.pbtxt": CONFIG.format(backend="onnxruntime", output="Y"),
        "dali/config.pbtxt": (inception / "dali" / "config.pbtxt").read_text(),
        "every/config.pbtxt": ENSEMBLE,
    }
    folder = tmp_path / "here" / "every"
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def sha256(model: Path, *, hash_seed: int) -> str:
    """Return the SHA-256 of an archive that a new process builds.

    `hash_seed` determines the iteration order of sets in the process.
    """
    output = model.parent / "archives"
    command = [sys.executable, "-c", BUILD, str(model.parent / "exports"), "build", str(model)]
    command += ["--target", "cpu-24.09", "--output", str(output), "--json"]
    command += ["--no-load", "the test compares archives"]
    process = run_program(*command, env={**os.environ, "PYTHONHASHSEED": str(hash_seed)})
    return hashlib.sha256(Path(json.loads(process.stdout)["path"]).read_bytes()).hexdigest()


def test_two_clones_build_the_same_archive(every_exporter: Path, tmp_path: Path) -> None:
    clone = tmp_path / "some" / "where" / "else" / "every"
    shutil.copytree(every_exporter, clone)
    assert sha256(every_exporter, hash_seed=1) == sha256(clone, hash_seed=2)
