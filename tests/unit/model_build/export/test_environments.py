"""Environments of recipes: packages in a separate folder, installed once."""

import fcntl
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from model_build import BuildError
from model_build.export import environments
from tests.unit.model_build.fakes import ProgressLines

SCRIPT = """
import json, sys
from pathlib import Path
parameters = json.load(sys.stdin)
import tiny
result = [tiny.WORD, parameters["word"], sys.flags.isolated, sys.path]
Path(parameters["to"]).write_text(json.dumps(result))
"""


@pytest.fixture
def empty_requirements(tmp_path: Path) -> Path:
    """An empty requirements file, with an empty script worker.py in its folder."""
    (tmp_path / "worker.py").write_text("")
    (tmp_path / "requirements.txt").write_text("")
    return tmp_path / "requirements.txt"


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands of a fake pip that installs a module `tiny`."""
    calls: list[list[str]] = []
    run_process = subprocess.run

    def run(command: list[str], **options: Any) -> Any:
        if "pip" in command:
            calls.append(command)
            to = Path(command[command.index("--target") + 1])
            to.mkdir(parents=True)
            (to / "tiny.py").write_text("WORD = 'installed'\n")
            return subprocess.CompletedProcess(command, 0, "", "")
        return run_process(command, **options)

    monkeypatch.setattr("model_build.export.pip.subprocess.run", run)
    return calls


def _run(
    requirements: Path, script: Path, progress_lines: ProgressLines | None = None, **parameters: Any
) -> None:
    environments.run_script(
        requirements,
        script,
        {"source": "export.py:f", **parameters},
        progress=ProgressLines() if progress_lines is None else progress_lines,
        cache=requirements.parent / "cache",
    )


def test_script_runs_isolated_with_the_installed_packages(
    empty_requirements: Path, tmp_path: Path, progress_lines: ProgressLines, pip: list[list[str]]
) -> None:
    to, script = tmp_path / "result.json", tmp_path / "worker.py"
    script.write_text(SCRIPT)
    _run(empty_requirements, script, progress_lines, to=str(to), word="first")
    package_word, parameter, isolated, path = json.loads(to.read_text())
    assert (package_word, parameter, isolated) == ("installed", "first", 1)
    assert not any("site-packages" in entry for entry in path)
    _run(empty_requirements, script, progress_lines, to=str(to), word="second")
    assert json.loads(to.read_text())[1] == "second"
    assert progress_lines == [f"installing {empty_requirements} into the cache"]


def test_packages_without_hashes_are_refused(tmp_path: Path, pip: list[list[str]]) -> None:
    requirements = tmp_path / "requirements-export.txt"
    requirements.write_text("six==1.17.0 \\\n  --hash=sha256:00\ntiny==1.0\n")
    with pytest.raises(BuildError, match=r":3: tiny==1\.0: has no hash, so its content can"):
        _run(requirements, tmp_path / "worker.py")
    assert pip == []


def test_installation_has_the_lock_of_its_folder(
    tmp_path: Path, empty_requirements: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks: list[Any] = []

    def install(_: Path, to: Path) -> None:
        with to.with_suffix(".lock").open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        locks.append(to)

    monkeypatch.setattr("model_build.export.pip.install", install)
    _run(empty_requirements, tmp_path / "worker.py")
    assert locks


def test_interrupted_installation_is_repeated(
    tmp_path: Path, empty_requirements: Path, pip: list[list[str]]
) -> None:
    _run(empty_requirements, tmp_path / "worker.py")
    (folder,) = (path for path in (tmp_path / "cache/environments").iterdir() if path.is_dir())
    folder.with_suffix(".complete").unlink()  # written last
    (folder / "half.py").write_text("")
    _run(empty_requirements, tmp_path / "worker.py")
    assert len(pip) == 2
    assert not (folder / "half.py").exists()
