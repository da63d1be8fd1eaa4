"""Installation of the Python packages of backend stand-ins."""

import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.hosting.packages import install_for_stand_ins


@pytest.fixture
def pip_commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The recorded pip commands; a fake pip installs the package nvidia."""
    commands = []

    def run(command: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        commands.append(command)
        folder = Path(command[command.index("--target") + 1])
        (folder / "nvidia").mkdir(parents=True)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def _provide(folder: Path, config: str, cache: Path) -> None:
    """Provide the packages for a repository of one model below `folder`."""
    model = folder / "repository" / "model"
    model.mkdir(parents=True, exist_ok=True)
    (model / "config.pbtxt").write_text(config)
    (folder / "backends" / "dali").mkdir(parents=True, exist_ok=True)
    install_for_stand_ins(folder / "repository", folder / "backends", cache=cache)


@pytest.mark.parametrize("config", ['backend: "dali"', "name: 'x'\n  backend : 'dali'\n"])
def test_packages_are_installed_once_and_linked(
    tmp_path: Path, pip_commands: list[list[str]], config: str
) -> None:
    for _ in range(2):
        _provide(tmp_path, config, tmp_path / "cache")
    assert (tmp_path / "backends" / "dali" / "site-packages" / "nvidia").is_dir()
    (command,) = pip_commands
    assert command[command.index("--python-version") + 1] == sysconfig.get_python_version()


def test_packages_are_reused_from_the_cache(tmp_path: Path, pip_commands: list[list[str]]) -> None:
    for name in ("first", "second"):
        _provide(tmp_path / name, 'backend: "dali"', tmp_path / "cache")
    assert len(pip_commands) == 1


@pytest.mark.parametrize(
    "config", ['backend: "python"', 'platform: "ensemble"', '# backend: "dali"']
)
def test_other_backends_install_nothing(
    tmp_path: Path, pip_commands: list[list[str]], config: str
) -> None:
    _provide(tmp_path, config, tmp_path / "cache")
    assert pip_commands == []


def test_error_of_pip_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        return subprocess.CompletedProcess(command, 1, "", "no such wheel")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(
        LocalSageMakerError, match="dali backend could not be installed: no such wheel"
    ):
        _provide(tmp_path, 'backend: "dali"', tmp_path / "cache")
