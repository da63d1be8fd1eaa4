"""Which exporter makes which step; what they do is tested where they are."""

from pathlib import Path
from typing import Any

import pytest

from model_build import BuildTarget
from model_build.export import steps
from model_build.export.gate import GateReport
from model_build.export.step_context import StepContext
from model_build.export.steps import Made
from model_build.gpu_step.result import Result
from model_build.recipe import Copy, PythonPackages, Recipe, Step
from tests.unit.model_build.fakes import Lines, step_context
from tests.unit.model_build.test_native_libraries import shared_object

REPORT = GateReport(
    max_absolute_difference=2.5e-6,
    max_relative_difference=1e-6,
    allowed=1e-4,
    shapes=[],
    answers=[],
)
ENGINE_RESULT = Result(job="j", plan_sha256="p", outputs=[], compiled_on={})
GATE = {"max_absolute_difference": 1e-4}
FROM_PYTHON = {"source": "export.py:f", "gate": GATE}
FROM_KERAS = {**FROM_PYTHON, "environment": "pins.txt", "opset": 17}
ENGINE = {
    "precision": "fp32",
    "profiles": [{"x": {"min": [1], "opt": [1], "max": [1]}}],
    "gate": GATE,
}


def _step(to: str, **written: Any) -> Step:
    files = {"m/1/file": {"to": to, **written}}
    return Recipe.model_validate({"description": "", "files": files}).files["m/1/file"]


def _context(folder: Path, said: Lines, weights: Path | None = None) -> StepContext:
    return step_context(
        folder,
        weights=weights,
        target=BuildTarget(release="25.09", compute_capability="8.6"),
        progress=said,
    )


@pytest.mark.parametrize(
    ("step", "exporter", "found"),
    [
        (
            _step("torchscript", environment="pins.txt", **FROM_PYTHON),
            "to_torchscript",
            ("a and b", REPORT),
        ),
        (_step("onnx", opset=18, **FROM_PYTHON), "to_onnx", ("a and b", REPORT)),
        (
            _step("tensorrt", opset=18, engine=ENGINE, **FROM_PYTHON),
            "to_tensorrt",
            ([("a and b", REPORT), ("c and d", REPORT)], ENGINE_RESULT),
        ),
        (_step("tensorflow-onnx", **FROM_KERAS), "from_keras", ("a and b", REPORT)),
        (_step("graphdef", **FROM_KERAS), "from_keras", ("a and b", REPORT)),
        (_step("dali", source="p.py:f", environment="pins.txt"), "to_dali", None),
    ],
    ids=lambda it: getattr(it, "to", ""),
)
def test_each_step_has_its_exporter_whose_gates_are_told(
    tmp_path: Path,
    said: Lines,
    monkeypatch: pytest.MonkeyPatch,
    step: Step,
    exporter: str,
    found: Any,
) -> None:
    calls: list[Any] = []

    def export(*arguments: Any, **named: Any) -> Any:
        calls.append((arguments, named))
        named["to"].touch()
        return found

    monkeypatch.setattr(f"model_build.export.{exporter}.export", export)
    context = _context(tmp_path, said)
    made = steps.make(step, tmp_path / "model.x", context)
    assert calls == [((step,), {"to": tmp_path / "model.x", "context": context})]
    gates, engine = found if exporter == "to_tensorrt" else ([found] if found else [], None)
    assert made == Made(gates, engine)
    assert said.lines == [
        f"model.x: {what} differ by 2.5e-06 at most (1e-04 allowed)" for what, _ in made.gates
    ]


@pytest.mark.parametrize("fetched", [True, False])
def test_a_file_is_copied_from_the_weights_or_from_beside_the_recipe(
    tmp_path: Path, said: Lines, fetched: bool
) -> None:
    for folder in ("weights", "model"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "words.txt").write_text(f"from {folder}")
    weights = tmp_path / "weights" if fetched else None
    context = _context(tmp_path / "model", said, weights)
    to = tmp_path / "copied.txt"
    assert steps.make(Copy(to="copy", weights="words.txt"), to, context) == Made([])
    assert to.read_text() == ("from weights" if fetched else "from model")


def test_packages_are_installed_for_tritons_python_and_tried(
    tmp_path: Path, said: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(
        "model_build.export.python_packages.install",
        lambda requirements, *, to, python: calls.append((requirements, to, python)),
    )
    monkeypatch.setattr(steps, "import_once", lambda *where, **how: calls.append((*where, how)))
    step = PythonPackages(to="python-packages", requirements="a/pins.txt")
    context = _context(tmp_path, said)
    to = tmp_path / "1" / "site-packages"
    to.mkdir(parents=True)
    (to / "lib.so").write_bytes(shared_object("libOpenCL.so.1"))
    assert steps.make(step, to, context) == Made([])
    assert [line for line in said.lines if line.startswith("warning: lib.so needs libOpenCL.so.1")]
    pins, python = tmp_path / "a/pins.txt", context.triton_python
    how = {"requirements": pins, "python": python, "progress": said}
    assert calls == [(pins, to, python), (to.parent, how)]
