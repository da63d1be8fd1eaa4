"""Pinned versions of environments, compared with those of the target's release."""

from pathlib import Path

import pytest

from model_build import BuildTarget, ModelSource
from model_build.checks.environment_versions import environment_versions

GATE = "gate: { max_absolute_difference: 1 }"
RECIPE = f"""\
description: Every format with a version limit
files:
  traced/1/model.pt:
    {{ to: torchscript, source: e.py:f, environment: torch.txt, {GATE} }}
  frozen/1/model.graphdef:
    {{ to: graphdef, source: e.py:f, environment: keras.txt, opset: 17, {GATE} }}
  pictures/1/model.dali:
    {{ to: dali, source: e.py:f, environment: dali.txt }}
alternatives:
  onnx:
    traced/1/model.onnx: {{ to: onnx, source: e.py:f, opset: 18, {GATE} }}
  newer:
    traced/1/model.pt:
      to: torchscript
      source: e.py:f
      environment: newer.txt
      {GATE}
"""
PINS = {
    "torch.txt": "numpy==1.26.4\ntorch==2.4.1  # no newer than 24.09's\ntorchvision==9.0\n",
    "newer.txt": "torch == 2.13.0+cpu\n",
    "keras.txt": "keras==3.6.0\ntensorflow_cpu==2.16.1\n",
    "dali.txt": "nvidia-dali-cuda120==1.35.0 \\\n    --hash=sha256:00\n",
}


def messages(folder: Path, target: str, alternative: str | None = None, **pins: str) -> list[str]:
    """Write the model with changed pin files; return the problems with their lines."""
    (folder / "recipe.yaml").write_text(RECIPE)
    for name, text in {**PINS, **{f"{key}.txt": text for key, text in pins.items()}}.items():
        (folder / name).write_text(text)
    model = ModelSource(folder, alternative)
    problems = list(environment_versions(model, BuildTarget.parse(target)))
    assert {location.path for location, _ in problems} <= {folder / "recipe.yaml"}
    return [f"{location.line}: {message}" for location, message in problems]


@pytest.mark.parametrize("target", ["cpu-24.09", "cuda-24.09-sm86", "cuda-26.05-sm86"])
def test_readable_versions_have_no_problems(tmp_path: Path, target: str) -> None:
    assert messages(tmp_path, target) == []


def test_newer_torch_is_reported_with_line_and_fix(tmp_path: Path) -> None:
    assert messages(tmp_path, "cuda-24.09-sm86", torch="a==1\ntorch==2.9.0\n") == [
        "4: traced/1/model.pt: torch.txt:2 pins torch==2.9.0, Triton 24.09 has "
        "2.5.0a0+b465a5843b, which may not read files of newer versions: write a torch before "
        "2.5.0, or choose Triton 26.03 or newer"
    ]


def test_final_version_is_newer_than_its_alphas(tmp_path: Path) -> None:
    assert messages(tmp_path, "cpu-24.09", torch="torch==2.5.0")
    assert not messages(tmp_path, "cpu-24.09", torch="torch==2.5.0a0+ffffffff")
    assert not messages(tmp_path, "cpu-24.09", torch="torch==2.5.0.dev20240901")


def test_torch_newer_than_all_releases_suggests_no_release(tmp_path: Path) -> None:
    (line,) = messages(tmp_path, "cpu-25.09", "newer")
    assert line == (
        "16: traced/1/model.pt: newer.txt:1 pins torch==2.13.0+cpu, Triton 25.09 has "
        "2.9.0a0+50eac811a6, which may not read files of newer versions: write a torch before 2.9.0"
    )


@pytest.mark.parametrize(
    ("target", "is_refused"),
    [("cuda-24.05-sm86", True), ("cpu-24.05", False), ("cuda-25.04-sm86", False)],
)
def test_tensorflow_is_compared_for_a_graphdef(
    tmp_path: Path, target: str, *, is_refused: bool
) -> None:
    lines = [line for line in messages(tmp_path, target) if "tensorflow" in line]
    assert bool(lines) == is_refused


def test_unknown_version_of_the_release_is_not_compared(tmp_path: Path) -> None:
    assert messages(tmp_path, "cuda-23.06-sm86", dali="nvidia_dali_cuda120==1.26.0\n") == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (
            "torch",
            "4: traced/1/model.pt: torch.txt pins no torch, which writes the file: add a torch "
            "before 2.5.0",
        ),
        (
            "keras",
            "6: frozen/1/model.graphdef: keras.txt pins no tensorflow, which writes the file: add "
            "tensorflow 2.16.1 or older",
        ),
        (
            "dali",
            "8: pictures/1/model.dali: dali.txt pins no dali, which writes the file: add dali "
            "1.39.0 or older",
        ),
    ],
)
def test_environment_must_pin_the_exporting_package(tmp_path: Path, name: str, line: str) -> None:
    unpinned = "# torch==1\ntorchvision==1\ntorch>=1\ntensorflow-estimator==1\nnvidia-dali==1\n"
    assert messages(tmp_path, "cuda-24.09-sm86", **{name: unpinned}) == [line]


def test_missing_pin_is_reported_for_unknown_versions(tmp_path: Path) -> None:
    (line,) = messages(tmp_path, "cpu-22.05", torch="", dali="nvidia-dali-cuda120==1.35.0")
    assert line.endswith("torch.txt pins no torch, which writes the file: add the torch to use")


def test_only_files_of_the_alternative_are_compared(tmp_path: Path) -> None:
    assert messages(tmp_path, "cpu-24.09", "onnx", torch="torch==2.13.0") == []
    assert messages(tmp_path, "cpu-24.09", torch="torch==2.13.0")
