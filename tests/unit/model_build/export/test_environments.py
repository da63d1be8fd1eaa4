"""Environments of recipes: packages in a separate folder, installed once."""

import hashlib
import json
import subprocess
import sys
import threading
import zipfile
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
def requirements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A requirements file with one local wheel, which pip installs without a network."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    wheel = tmp_path / "tiny-1.0-py3-none-any.whl"
    info = "tiny-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny.py", "WORD = 'installed'\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    path = tmp_path / "requirements-export.txt"
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    path.write_text(f"tiny @ {wheel.as_uri()} --hash=sha256:{sha256}\n")
    return path


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "worker.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture
def empty_requirements(tmp_path: Path) -> Path:
    """An empty requirements file, with an empty script worker.py in its folder."""
    (tmp_path / "worker.py").write_text("")
    (tmp_path / "requirements.txt").write_text("")
    return tmp_path / "requirements.txt"


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands of a fake pip that installs nothing."""
    calls: list[list[str]] = []
    run_process = subprocess.run

    def run(command: list[str], **options: Any) -> Any:
        if "pip" in command:
            calls.append(command)
            Path(command[command.index("--target") + 1]).mkdir(parents=True)
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
    requirements: Path, script: Path, tmp_path: Path, progress_lines: ProgressLines
) -> None:
    to = tmp_path / "result.json"
    _run(requirements, script, progress_lines, to=str(to), word="first")
    package_word, parameter, isolated, path = json.loads(to.read_text())
    assert (package_word, parameter, isolated) == ("installed", "first", 1)
    assert not any("site-packages" in entry for entry in path)
    assert progress_lines == [f"installing {requirements} into the cache"]
    to.unlink()
    progress_lines.clear()
    _run(requirements, script, progress_lines, to=str(to), word="second")
    assert json.loads(to.read_text())[1] == "second"
    assert progress_lines == []


def test_packages_without_hashes_are_refused(tmp_path: Path, pip: list[list[str]]) -> None:
    requirements = tmp_path / "requirements-export.txt"
    requirements.write_text("six==1.17.0 \\\n  --hash=sha256:00\ntiny==1.0\n")
    with pytest.raises(BuildError, match=r":3: tiny==1\.0: has no hash, so its content can"):
        _run(requirements, tmp_path / "worker.py")
    assert pip == []


def test_interrupted_installation_is_repeated(
    tmp_path: Path, empty_requirements: Path, pip: list[list[str]]
) -> None:
    _run(empty_requirements, tmp_path / "worker.py")
    (folder,) = (path for path in (tmp_path / "cache/environments").iterdir() if path.is_dir())
    folder.with_suffix(".complete").unlink()  # written last
    (folder / "half.py").write_text("")
    _run(empty_requirements, tmp_path / "worker.py")
    assert len(pip) == 2
    assert list(folder.iterdir()) == []


HOLD_LOCK = """
import fcntl, sys
with open(sys.argv[1], "w") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_installation_waits_for_the_lock_of_another_process(tmp_path: Path) -> None:
    lock = tmp_path / "one.lock"
    holder = subprocess.Popen(
        [sys.executable, "-ISc", HOLD_LOCK, str(lock)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def install() -> None:
        with environments._hold_lock(lock):
            pass

    with holder:
        assert holder.stdout
        assert holder.stdout.readline() == "locked\n"
        waiting = threading.Thread(target=install)
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive()
        holder.kill()
        waiting.join()
