"""Backends of a model without a build step, compared with those of the target."""

from pathlib import Path

import pytest

from model_build import BuildTarget, ModelFolder
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
    problems = target_backends(ModelFolder(folder).model(), BuildTarget.parse(target))
    return [f"{location.path.name}:{location.line}: {message}" for location, message in problems]


@pytest.mark.parametrize(
    ("target", "config", "problem"),
    [
        ("cpu-25.09", '\nbackend: "tensorrt"', "config.pbtxt:2: a TensorRT plan runs on GPUs only"),
        ("cpu-25.09", 'platform: "tensorrt_plan"', "config.pbtxt:1: a TensorRT plan runs on GPUs"),
        ("cuda-25.09-sm86", 'platform: "tensorflow_savedmodel"',
         "config.pbtxt:1: Triton 25.09 has no tensorflow backend; 25.02 was"),
    ],
)  # fmt: skip
def test_backend_that_the_target_lacks_is_refused(
    tmp_path: Path, target: str, config: str, problem: str
) -> None:
    (line,) = messages(tmp_path, target, config)
    assert line.startswith(problem)


def test_plan_is_accepted_for_a_gpu_and_as_a_step_of_a_recipe(tmp_path: Path) -> None:
    assert messages(tmp_path, "cuda-25.09-sm86", 'backend: "tensorrt"') == []
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    assert [*target_backends(ModelFolder(tmp_path).model(), BuildTarget.parse("cpu-25.09"))] == []


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
    problems = [*aoti_targets(ModelFolder(tmp_path).model(), BuildTarget.parse(target))]
    assert len(problems) == (problem is not None)
    if problem:
        ((location, message),) = problems
        assert (location.path.name, location.line) == ("config.pbtxt", 1)
        assert message.startswith(problem)
