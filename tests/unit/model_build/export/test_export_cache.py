"""Exports that are made once for the same inputs, and again where one of them changes."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from model_build import BuildTarget
from model_build.export import export_cache
from model_build.export.export_cache import cached_export
from model_build.export.gate import GateReport, OutputTensor
from model_build.export.step import Gates, StepContext
from model_build.formats.onnx import Onnx
from model_build.recipe_values import Gate
from tests.unit.model_build.fakes import step_context

STEP = Onnx(to="onnx", source="export.py:f", opset=18, gate=Gate(max_absolute_difference=1e-4))
GATES: Gates = [
    (
        "ONNX and PyTorch",
        GateReport(
            max_absolute_difference=1e-6,
            max_relative_difference=1e-7,
            allowed=1e-4,
            shapes=[{"batch": 2}],
            answers=[[OutputTensor("Y", "FP32", (2, 3))]],
        ),
    )
]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    for name, text in {
        "export.py": "first",
        "recipe.yaml": "first",
        "m/config.pbtxt": "first",
        "m/1/model.py": "first",
        "tests/golden.json": "first",
    }.items():
        path = tmp_path / "model" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "model"


@pytest.fixture
def is_made(tmp_path: Path) -> Callable[..., bool]:
    """Export; return whether the file was made, and not taken from those that are kept."""
    to = tmp_path / "model.onnx"

    def export(context: StepContext, step: Onnx = STEP) -> bool:
        calls: list[str] = []
        to.unlink(missing_ok=True)

        def make() -> Gates:
            calls.append("made")
            to.write_text("weights")
            return GATES

        assert cached_export(step, to, context, make) == GATES
        assert to.read_text() == "weights"
        return bool(calls)

    return export


def test_the_same_inputs_are_exported_once(model: Path, is_made: Callable[..., bool]) -> None:
    context = step_context(model)
    assert [is_made(context), is_made(context)] == [True, False]
    for name in ("recipe.yaml", "m/config.pbtxt", "m/1/model.py", "tests/golden.json"):
        (model / name).write_text("second")
    assert not is_made(context)


def test_any_other_input_is_exported_again(
    model: Path, tmp_path: Path, is_made: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    context = step_context(model)
    assert is_made(context)
    assert is_made(context, STEP.model_copy(update={"opset": 19}))
    assert is_made(dataclasses.replace(context, seed=1))
    assert is_made(dataclasses.replace(context, weights=tmp_path / "other"))
    gpu = BuildTarget(release="25.09", compute_capability="8.6")
    assert is_made(dataclasses.replace(context, target=gpu))
    monkeypatch.setattr(export_cache, "_builder", lambda: {"torch": "2.14.0"})
    assert is_made(context)
    monkeypatch.undo()
    monkeypatch.setattr(export_cache, "FOLDER", tmp_path / "exports")
    (model / "export.py").write_text("second")
    assert is_made(context)


def test_a_kept_file_that_somebody_changed_is_made_again(
    model: Path, is_made: Callable[..., bool]
) -> None:
    context = step_context(model)
    assert is_made(context)
    for path in export_cache.FOLDER.glob("*/file"):
        path.write_text("changed")
    assert [is_made(context), is_made(context)] == [True, False]


def test_the_latest_exports_are_kept(
    model: Path, is_made: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_cache, "MAX_EXPORTS", 2)
    for seed in range(4):
        assert is_made(dataclasses.replace(step_context(model), seed=seed))
    assert len([*export_cache.FOLDER.iterdir()]) == 2
