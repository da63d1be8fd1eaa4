"""Copy and package steps, and the gate report of every step."""

from pathlib import Path
from typing import Any

import pytest

from model_build import BuildTarget
from model_build.export import steps
from model_build.export.step import StepOutput
from model_build.formats.python import PythonPackages
from model_build.recipe import Copy
from tests.unit.model_build.fakes import ProgressLines, step_context
from tests.unit.model_build.test_native_libraries import shared_object


@pytest.mark.parametrize("has_weights", [True, False])
def test_copy_reads_the_weights_or_the_model_folder(tmp_path: Path, *, has_weights: bool) -> None:
    for folder in ("weights", "model"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "words.txt").write_text(f"from {folder}")
    context = step_context(
        tmp_path / "model", weights=tmp_path / "weights" if has_weights else None
    )
    to = tmp_path / "copied.txt"
    assert steps.run_step(Copy(to="copy", weights="words.txt"), to, context) == StepOutput([])
    assert to.read_text() == ("from weights" if has_weights else "from model")


def test_packages_are_installed_with_a_warning_about_libraries(
    tmp_path: Path, progress_lines: ProgressLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(
        "model_build.formats.python.install",
        lambda requirements, *, to, python, **_: calls.append((requirements, to, python)),
    )
    step = PythonPackages(to="python-packages", requirements="a/pins.txt")
    target = BuildTarget(release="25.09", compute_capability="8.6")
    context = step_context(tmp_path, target=target, progress=progress_lines)
    to = tmp_path / "1" / "site-packages"
    to.mkdir(parents=True)
    (to / "lib.so").write_bytes(shared_object("libOpenCL.so.1"))
    assert steps.run_step(step, to, context) == StepOutput([])
    (warning,) = progress_lines
    assert warning.startswith("warning: lib.so needs libOpenCL.so.1")
    assert calls == [(tmp_path / "a/pins.txt", to, context.python_version)]
