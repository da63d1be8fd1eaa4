"""Backends of a model without a build step, compared with those of the target."""

from pathlib import Path

import pytest

from model_build import BuildTarget, ModelSource
from model_build.checks.backends import target_backends

TENSORS = "".join(
    f' {kind} [ {{ name: "{name}" data_type: TYPE_FP32 dims: [ 2 ] }} ]'
    for kind, name in (("input", "X"), ("output", "Y"))
)
RECIPE = """\
description: A TensorRT plan, built as ONNX for CPUs
files:
  plan/1/model.plan:
    to: tensorrt
    source: e.py:f
    opset: 18
    gate: { max_absolute_difference: 1 }
    engine:
      precision: fp16
      gate: { max_absolute_difference: 1 }
      profiles: [{ X: { min: [1, 2], opt: [1, 2], max: [1, 2] } }]
"""


def messages(folder: Path, target: str, config: str) -> list[str]:
    """Write a model and return its problems."""
    (folder / "plan" / "1").mkdir(parents=True)
    (folder / "plan" / "config.pbtxt").write_text(config + TENSORS)
    problems = target_backends(ModelSource(folder), BuildTarget.parse(target))
    return [f"{location.path.name}:{location.line}: {message}" for location, message in problems]


@pytest.mark.parametrize(
    "config", ['backend: "tensorrt"', 'platform: "tensorrt_plan"'], ids=["backend", "platform"]
)
def test_plan_file_requires_a_gpu(tmp_path: Path, config: str) -> None:
    (line,) = messages(tmp_path, "cpu-25.09", f"\n{config}")
    assert line.startswith("config.pbtxt:2: a TensorRT plan runs on GPUs only: serve it on an")


def test_plan_file_is_accepted_for_a_gpu(tmp_path: Path) -> None:
    assert messages(tmp_path, "cuda-25.09-sm86", 'backend: "tensorrt"') == []


def test_plan_step_of_a_recipe_is_accepted_for_a_cpu(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    assert messages(tmp_path, "cpu-25.09", 'backend: "tensorrt"') == []


def test_backend_missing_in_the_release_is_refused(tmp_path: Path) -> None:
    (line,) = messages(tmp_path, "cuda-25.09-sm86", 'platform: "tensorflow_savedmodel"')
    assert line.startswith("config.pbtxt:1: Triton 25.09 has no tensorflow backend; 25.02 was")
