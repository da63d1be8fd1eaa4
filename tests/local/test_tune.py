"""The command `tritonsm tune`, with a real Triton."""

import os
from pathlib import Path

import pytest

from cli import tune
from cli.dispatch import parse_command

CONFIG = """# a model that waits
backend: "python"
max_batch_size: 8
input [ { name: "X" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] } ]
# one process
instance_group [ { count: 1 kind: KIND_GPU } ]
"""
MODEL = """
import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        time.sleep(0.05)  # once for a batch
        inputs = [pb_utils.get_input_tensor_by_name(each, "X").as_numpy() for each in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", array)]) for array in inputs]
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The config.pbtxt of a model that takes 50 ms for a batch of any size."""
    monkeypatch.setattr(tune, "DELAYS", (0,))
    monkeypatch.setattr(tune, "TURNS", 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    folder = tmp_path / "models" / "waiting" / "waiting"
    (folder / "1").mkdir(parents=True)
    (folder / "1" / "model.py").write_text(MODEL)
    (folder / "config.pbtxt").write_text(CONFIG)
    return folder / "config.pbtxt"


def test_faster_settings_are_a_diff_and_written(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(config.parents[1])
    arguments = ["--input", "X=[[1]]", "--callers", "4", "--seconds", "1"]
    assert parse_command(["tune", folder, *arguments, "--write"])() == 0
    output = capsys.readouterr().out
    assert "as it is" in output
    assert "-instance_group [ { count: 1 kind: KIND_GPU } ]" in output
    assert config.read_text() == CONFIG.replace(
        "instance_group [ { count: 1 kind: KIND_GPU } ]",
        "instance_group { count: 2 kind: KIND_GPU }\ndynamic_batching { }",
    )


def test_limit_of_latency_excludes_faster_settings(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--input", "X=[[1]]", "--callers", "2", "--seconds", "1", "--p95", "1"]
    assert parse_command(["tune", str(config.parents[1]), *arguments])() == 0
    assert "no configuration is 1.1 times as fast" in capsys.readouterr().out
    assert config.read_text() == CONFIG
