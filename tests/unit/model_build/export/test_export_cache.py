"""Steps of recipes with the cache of exports: an export is reused for equal inputs."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from model_build import BuildTarget
from model_build.export import export_cache, steps
from model_build.export.gate import GateReport, OutputTensor
from model_build.export.step import StepContext, StepOutput
from model_build.formats.onnx import Onnx
from model_build.recipe_values import Gate
from tests.unit.model_build.conftest import write_files
from tests.unit.model_build.fakes import ProgressLines, step_context

Export = Callable[..., bool]

STEP = Onnx(to="onnx", source="export.py:f", opset=18, gate=Gate(max_absolute_difference=1e-4))
OUTPUT = StepOutput(
    [
        (
            "ONNX and PyTorch",
            GateReport(
                max_absolute_difference=2.5e-6,
                max_relative_difference=1e-7,
                allowed=1e-4,
                shapes=[{"batch": 2}],
                output_tensors=[[OutputTensor("Y", "FP32", (2, 3))]],
            ),
        )
    ]
)
OTHER_FILES = ["recipe.yaml", "m/config.pbtxt", "m/1/model.py", "tests/golden.json"]
"""Files that the export does not read."""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_files(tmp_path / "model", dict.fromkeys(["export.py", *OTHER_FILES], "first"))


@pytest.fixture
def export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Export:
    """Function that runs a step and returns whether the file was made instead of reused."""
    to = tmp_path / "model.onnx"

    def run(context: StepContext, step: Onnx = STEP) -> bool:
        calls: list[str] = []
        to.unlink(missing_ok=True)

        def generate(*_: object) -> StepOutput:
            calls.append("made")
            to.write_text("weights")
            return OUTPUT

        monkeypatch.setattr(Onnx, "generate", generate)
        progress = ProgressLines()
        assert steps.run_step(step, to, dataclasses.replace(context, progress=progress)) == OUTPUT
        line = "model.onnx: ONNX and PyTorch differ by 2.5e-06 at most (1e-04 allowed)"
        assert progress[-1] == line
        assert to.read_text() == "weights"
        return bool(calls)

    return run


def test_equal_inputs_are_exported_once(model: Path, export: Export) -> None:
    context = step_context(model)
    assert [export(context), export(context)] == [True, False]
    for name in OTHER_FILES:
        (model / name).write_text("second")
    assert not export(context)


def test_changed_input_is_exported_again(
    model: Path, tmp_path: Path, export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = step_context(model)
    assert export(context)
    assert export(context, STEP.model_copy(update={"opset": 19}))
    assert export(dataclasses.replace(context, seed=1))
    assert export(dataclasses.replace(context, weights=tmp_path / "other"))
    gpu = BuildTarget(release="25.09", compute_capability="8.6")
    assert export(dataclasses.replace(context, target=gpu))
    with monkeypatch.context() as patch:
        patch.setattr(export_cache, "_builder_versions", lambda: {"torch": "2.14.0"})
        assert export(context)
    (model / "export.py").write_text("second")
    assert export(context)


def test_changed_cached_file_is_exported_again(model: Path, export: Export) -> None:
    context = step_context(model)
    assert export(context)
    for path in export_cache.FOLDER.glob("*/file"):
        path.write_text("changed")
    assert [export(context), export(context)] == [True, False]
