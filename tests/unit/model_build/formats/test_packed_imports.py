"""Packages are imported once, among nothing but themselves, the standard library and numpy."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from model_build import BuildError
from model_build.formats.python.packed_imports import import_once
from tests.unit.model_build.fakes import Lines

if TYPE_CHECKING:
    from tests.unit.model_build.conftest import WriteFiles

HERE = ".".join(map(str, sys.version_info[:3]))
PINS = Path("pins.txt")


def _try(version: Path, said: Lines, *, python: str = HERE) -> None:
    import_once(version, requirements=PINS, python=python, progress=said)


def test_packages_that_need_each_other_and_numpy_are_imported(
    tmp_path: Path, write_files: "WriteFiles", said: Lines
) -> None:
    files = {
        "model.py": "import words\n",
        "site-packages/words/__init__.py": "import letters, numpy.linalg",
        "site-packages/letters.py": "",
        "site-packages/unused.py": "import nowhere",
    }
    _try(write_files(tmp_path, files), said)
    assert said == []
    assert not [*tmp_path.rglob("__pycache__")]  # it would go into the archive


@pytest.mark.parametrize("missing", ["letters", "yaml"])  # ours has yaml
def test_what_a_package_needs_and_nobody_pinned_is_named(
    tmp_path: Path, write_files: "WriteFiles", said: Lines, missing: str
) -> None:
    files = {"model.py": "import words\n", "site-packages/words.py": f"import {missing}"}
    with pytest.raises(BuildError) as refused:
        _try(write_files(tmp_path, files), said)
    assert str(refused.value) == (
        f"pins.txt: `import words` fails: ModuleNotFoundError: No module named '{missing}': pin "
        "everything that it needs, too"
    )


def test_packages_for_another_python_are_said_to_be_untried(
    tmp_path: Path, write_files: "WriteFiles", said: Lines
) -> None:
    files = {"model.py": "import words\n", "site-packages/words.py": "import nowhere"}
    _try(write_files(tmp_path, files), said, python="3.8.10")
    here = HERE.rpartition(".")[0]
    assert said == [f"pins.txt is for Python 3.8.10: not imported by {here}"]
