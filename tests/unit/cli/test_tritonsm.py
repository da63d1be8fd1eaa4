"""Tests of the script `tritonsm`."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import run_program
from tests.unit.test_repository import ROOT

FAKE_PYTHON = f"""#!{sys.executable} -I
import os, signal, sys
print(sys.argv[1:], os.environ.get("PYTHONPATH"))
print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a folder with `tritonsm`, a link to it, and a Python that prints its arguments."""
    shutil.copy(ROOT / "tritonsm", tmp_path)
    bin_folder = tmp_path / ".venv" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "python").write_text(FAKE_PYTHON)
    (bin_folder / "python").chmod(0o755)
    (bin_folder / "tritonsm").symlink_to("../../tritonsm")
    return tmp_path


def _start(
    *command: str, folder: Path, path: str = os.environ["PATH"]
) -> "subprocess.CompletedProcess[str]":
    return run_program(*command, "lint", "a b", code=None, cwd=folder, env={"PATH": path})


@pytest.mark.parametrize("path", ["./tritonsm", ".venv/bin/tritonsm"])
def test_script_runs_the_python_of_the_repository_with_blocked_interrupts(
    repository: Path, path: str
) -> None:
    process = _start(path, folder=repository)
    message, blocked = process.stdout.splitlines()
    assert message == "['-m', 'cli', 'lint', 'a b'] None"
    assert blocked == str(sorted([signal.SIGINT, signal.SIGTERM]))


def test_run_from_another_folder_is_an_error(repository: Path, tmp_path: Path) -> None:
    (repository / "models").mkdir()
    process = _start(str(repository / "tritonsm"), folder=repository / "models")
    assert process.returncode == 1
    assert process.stderr == f"error: paths are relative to the repository: cd {repository}\n"


def test_missing_environment_is_an_error(repository: Path) -> None:
    shutil.rmtree(repository / ".venv")
    process = _start("./tritonsm", folder=repository)
    assert process.returncode == 1
    assert process.stderr == "error: .venv is missing: run make install first\n"
