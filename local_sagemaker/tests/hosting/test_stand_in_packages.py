"""What a stand-in needs is installed once, when a model first asks for it."""

import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.hosting.packages import provide_for


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that pip was run with; it leaves a package."""
    commands = []

    def run(command: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        commands.append(command)
        folder = Path(command[command.index("--target") + 1])
        (folder / "nvidia").mkdir(parents=True)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def _repository(folder: Path, config: str) -> Path:
    (folder / "repository" / "model").mkdir(parents=True)
    (folder / "repository" / "model" / "config.pbtxt").write_text(config)
    (folder / "backends" / "dali").mkdir(parents=True)
    return folder / "repository"


@pytest.mark.parametrize("config", ['backend: "dali"', "name: 'x'\n  backend : 'dali'\n"])
def test_the_packages_are_linked_beside_the_stand_in(
    tmp_path: Path, installed: list[list[str]], config: str
) -> None:
    for _ in range(2):
        provide_for(
            _repository_once(tmp_path, config), tmp_path / "backends", cache=tmp_path / "cache"
        )
    assert (tmp_path / "backends" / "dali" / "site-packages" / "nvidia").is_dir()
    (command,) = installed
    assert command[command.index("--python-version") + 1] == sysconfig.get_python_version()


def _repository_once(folder: Path, config: str) -> Path:
    made = folder / "repository"
    return made if made.exists() else _repository(folder, config)


def test_a_second_local_sagemaker_finds_them_in_the_cache(
    tmp_path: Path, installed: list[list[str]]
) -> None:
    for name in ("first", "second"):
        repository = _repository(tmp_path / name, 'backend: "dali"')
        provide_for(repository, tmp_path / name / "backends", cache=tmp_path / "cache")
    assert len(installed) == 1


@pytest.mark.parametrize(
    "config", ['backend: "python"', 'platform: "ensemble"', '# backend: "dali"']
)
def test_other_models_install_nothing(
    tmp_path: Path, installed: list[list[str]], config: str
) -> None:
    provide_for(_repository(tmp_path, config), tmp_path / "backends", cache=tmp_path / "cache")
    assert installed == []


def test_what_pip_says_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        return subprocess.CompletedProcess(command, 1, "", "no such wheel")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(
        LocalSageMakerError, match="dali backend could not be installed: no such wheel"
    ):
        provide_for(
            _repository(tmp_path, 'backend: "dali"'),
            tmp_path / "backends",
            cache=tmp_path / "cache",
        )
