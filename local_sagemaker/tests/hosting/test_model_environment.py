"""The Python environment of models and its packages."""

import sys
import sysconfig
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest

from local_sagemaker.hosting import packages as hosting_packages
from local_sagemaker.prerequisites import Interpreter, TritonInstallation

VERSION = sysconfig.get_python_version()
OWN = Interpreter(Path(sys.executable), VERSION, Path("/"), Path("/stub"))


def _installation(models: Interpreter) -> TritonInstallation:
    return TritonInstallation(Path("/"), OWN, models, isolated=True)


def test_other_python_version_has_the_same_numpy_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def install(requirements: Path, **version: Any) -> Path:
        assert f"\nnumpy=={numpy.__version__} \\\n    --hash=" in requirements.read_text()
        assert version == {"python": "1.0", "cache": tmp_path / "cache"}
        (tmp_path / "installed" / "numpy").mkdir(parents=True)
        return tmp_path / "installed"

    monkeypatch.setattr(hosting_packages, "install", install)
    # Another Python may be missing here, so a fake program creates the folders of Python 1.0.
    other_python = replace(OWN, program=_fake_python(tmp_path, "1.0"), version="1.0")
    hosting_packages.make_environment(
        _installation(other_python), tmp_path, cache=tmp_path / "cache"
    )
    packages = hosting_packages.environment_folder(tmp_path) / "lib" / "python1.0" / "site-packages"
    assert (packages / "numpy").readlink() == tmp_path / "installed" / "numpy"


def _fake_python(folder: Path, version: str) -> Path:
    """Return a program that creates the environment folders for this Python version."""
    program = folder / f"python{version}"
    program.write_text(
        f'#!/bin/sh\nfor to; do :; done; mkdir -p "$to/lib/python{version}/site-packages"\n'
    )
    program.chmod(0o755)
    return program
