"""Pinned versions of environments, compared with those of the target's release."""

import re
from pathlib import Path

import pytest

from model_build import BuildTarget, ModelFolder
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
    model = ModelFolder(folder).model(alternative)
    problems = list(environment_versions(model, BuildTarget.parse(target)))
    assert {location.path for location, _ in problems} <= {folder / "recipe.yaml"}
    return [f"{location.line}: {message}" for location, message in problems]


UNPINNED = "# torch==1\ntorchvision==1\ntorch>=1\ntensorflow-estimator==1\nnvidia-dali==1\n"
OLD = {"torch": "torch==2.0.0\n", "dali": "nvidia-dali-cuda120==1.0.0\n"}
GPU = "cuda-24.09-sm86"


@pytest.mark.parametrize(
    ("target", "pins", "problem"),
    [
        *((target, {}, None) for target in ("cpu-24.09", GPU, "cuda-26.05-sm86")),
        (GPU, {"torch": "a==1\ntorch==2.9.0\n"},
         "4: traced/1/model.pt: torch.txt:2 pins torch==2.9.0, Triton 24.09 has 2.5.0a0+b465a5843b"
         ", ... write a torch before 2.5.0, or choose Triton 26.03 or newer"),
        ("cpu-24.09", {"torch": "torch==2.5.0"}, "4: ... pins torch==2.5.0"),
        ("cpu-24.09", {"torch": "torch==2.5.0a0+ffffffff"}, None),
        ("cpu-24.09", {"torch": "torch==2.5.0.dev20240901"}, None),
        ("cuda-24.05-sm86", OLD, "6: ... pins tensorflow_cpu==2.16.1"),
        ("cpu-24.05", OLD, None),  # version unknown
        ("cuda-25.04-sm86", {}, None),
        ("cuda-23.06-sm86", {"dali": "nvidia_dali_cuda120==1.26.0\n"}, None),  # version unknown
        (GPU, {"torch": UNPINNED},
         "4: traced/1/model.pt: torch.txt pins no torch, ... add a torch before 2.5.0"),
        (GPU, {"keras": UNPINNED}, "6: ... pins no tensorflow, ... tensorflow 2.16.1 or older"),
        (GPU, {"dali": UNPINNED}, "8: ... pins no dali, ... add dali 1.39.0 or older"),
        ("cpu-23.05", {"torch": "", "dali": "nvidia-dali-cuda120==1.25.0"},
         "4: ... torch.txt pins no torch, which writes the file: add the torch to use"),
    ],
)  # fmt: skip
def test_pinned_versions_are_compared_with_those_of_the_release(
    tmp_path: Path, target: str, pins: dict[str, str], problem: str | None
) -> None:
    lines = messages(tmp_path, target, **pins)
    pattern = ".*".join(map(re.escape, problem.split("... "))) if problem else ""
    assert [line for line in lines if not re.match(pattern, line)] == []
    assert bool(lines) == bool(problem)


def test_only_files_of_the_alternative_are_compared(tmp_path: Path) -> None:
    assert messages(tmp_path, "cpu-24.09", "onnx", torch="torch==2.13.0") == []
    assert messages(tmp_path, "cpu-24.09", torch="torch==2.13.0")
    (line,) = messages(tmp_path, "cpu-25.09", "newer")  # no release has this version
    assert line.endswith("files of newer versions: write a torch before 2.9.0")
