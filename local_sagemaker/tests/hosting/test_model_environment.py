"""What a Python finds that takes its packages from the environment of models."""

import subprocess
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


def test_it_has_numpy_and_nothing_else_also_when_it_is_made_again(tmp_path: Path) -> None:
    for _ in range(2):
        hosting_packages.make_environment(_installation(OWN), tmp_path)
    ask = (
        "import importlib.metadata as it, numpy\n"
        "print(numpy.__version__, *(found.name for found in it.distributions()))"
    )
    python = hosting_packages.environment_folder(tmp_path) / "bin" / "python3"
    answer = subprocess.run([python, "-I", "-c", ask], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == [numpy.__version__, "numpy"]


def test_another_python_gets_the_same_numpy_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = []

    def install(requirements: Path, **version: Any) -> Path:
        requests.append((requirements.read_text(), version))
        return tmp_path / "installed"

    monkeypatch.setattr(hosting_packages, "install", install)
    # No other Python may be here: this one makes its environment under the other's name.
    other = replace(OWN, program=_program_of(tmp_path, "1.0"), version="1.0")
    hosting_packages.make_environment(_installation(other), tmp_path, cache=tmp_path / "cache")
    assert requests == [
        (f"numpy=={numpy.__version__}\n", {"python": "1.0", "cache": tmp_path / "cache"})
    ]
    packages = hosting_packages.environment_folder(tmp_path) / "lib" / "python1.0" / "site-packages"
    assert (packages / "numpy").readlink() == tmp_path / "installed" / "numpy"


def _program_of(folder: Path, version: str) -> Path:
    """Return a program that makes an environment's folders for a Python of this version."""
    program = folder / f"python{version}"
    program.write_text(
        f'#!/bin/sh\nfor to; do :; done; mkdir -p "$to/lib/python{version}/site-packages"\n'
    )
    program.chmod(0o755)
    return program
