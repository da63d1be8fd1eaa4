from pathlib import Path

from model_build import BuildTarget
from model_build.export.step import StepContext
from tests.unit.model_build.fakes import step_context


def _context(release: str, folder: Path) -> StepContext:
    return step_context(folder, target=BuildTarget(release=release))


def test_packages_are_installed_for_the_python_of_tritons_image(tmp_path: Path) -> None:
    assert _context("24.09", tmp_path).triton_python == "3.10.12"
    assert _context("25.09", tmp_path).triton_python.startswith("3.12.")


def test_packages_are_installed_for_the_targets_python_where_that_is_another(
    tmp_path: Path,
) -> None:
    target = BuildTarget(release="24.09", python="3.11")
    assert step_context(tmp_path, target=target).triton_python == "3.11"
