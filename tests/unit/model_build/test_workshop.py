from pathlib import Path

import pytest

from model_build import BuildError, BuildTarget
from model_build.workshop import Workshop
from tests.unit.model_build.fakes import workshop_in


def _workshop(release: str, folder: Path) -> Workshop:
    return workshop_in(folder, target=BuildTarget(release=release))


def test_packages_are_installed_for_the_python_of_tritons_image(tmp_path: Path) -> None:
    assert _workshop("24.09", tmp_path).triton_python == "3.10.12"
    assert _workshop("25.09", tmp_path).triton_python.startswith("3.12.")


def test_a_python_that_nobody_knows_is_an_error(tmp_path: Path) -> None:
    workshop = _workshop("24.03", tmp_path)
    assert workshop.release.name == "24.03"
    with pytest.raises(BuildError, match=r"^the Python version of Triton 24\.03 is not known$"):
        _ = workshop.triton_python
