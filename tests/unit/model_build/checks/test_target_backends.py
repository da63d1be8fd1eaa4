"""Backends of a model without a build step, compared with those of the target."""

from pathlib import Path

import pytest

from model_build import BuildTarget, ModelSource
from model_build.checks.backends import aoti_targets, target_backends

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
PACKAGE = """\
description: A package of AOTInductor
files:
  plan/1/model.pt2:
    to: torch-aoti
    source: e.py:f
    environment: torch.txt
    gate: { max_absolute_difference: 1 }
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


@pytest.mark.parametrize(
    ("target", "step", "problem"),
    [
        ("cpu-25.09", "", "Triton 25.09 does not load AOTInductor packages: choose Triton 26.03"),
        ("cuda-26.05-sm86", "", None),  # it may have been compiled for this GPU
        ("cuda-26.05-sm86", "torch-aoti", "a package for a GPU is compiled on that GPU, and the"),
        ("cpu-26.03", "torch-aoti", None),
    ],
)
def test_package_needs_a_release_and_a_processor(
    tmp_path: Path, target: str, step: str, problem: str | None
) -> None:
    if step:
        (tmp_path / "recipe.yaml").write_text(PACKAGE)
    assert messages(tmp_path, "cpu-26.05", 'platform: "torch_aoti"') == []
    problems = [*aoti_targets(ModelSource(tmp_path), BuildTarget.parse(target))]
    assert len(problems) == (problem is not None)
    if problem:
        ((location, message),) = problems
        assert (location.path.name, location.line) == ("config.pbtxt", 1)
        assert message.startswith(problem)
