import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from local_sagemaker import lifecycle
from local_sagemaker.__main__ import main
from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.folder import Folder, RunningSageMaker
from local_sagemaker.settings import INSTANCES, SPEED
from local_sagemaker.tests.support.running import server_process

RUNNING = RunningSageMaker(pid=os.getpid(), port=4566, python="3.10")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """The folder below a working directory whose name has a space."""
    working = tmp_path / "a b"
    working.mkdir()
    monkeypatch.chdir(working)
    folder = Folder.default()
    folder.root.mkdir()
    return folder


def test_env_without_a_running_local_sagemaker_fails(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["env"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        "error: the local SageMaker is not running: run `tritonsm up` or `local-sagemaker up`\n"
    )


def test_commands_for_the_terminal_in_a_log_are_escaped(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def up(*_: object, **__: object) -> None:
        raise LocalSageMakerError("its log ends:\n\x1b[2J \u202e")

    monkeypatch.setattr(lifecycle, "up", up)
    assert main(["up"]) == 1
    assert capsys.readouterr().err == "error: its log ends:\n\\x1b[2J \\u202e\n"


def test_env_output_is_valid_shell(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    with server_process(folder, RUNNING.port) as process:
        folder.write_running(replace(RUNNING, pid=process.pid))
        assert main(["env"]) == 0
    script = capsys.readouterr().out + 'echo "$AWS_ENDPOINT_URL"; sh -c \'echo "$CDK_HOME"\''
    completed = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert completed.stdout.splitlines() == ["http://127.0.0.1:4566", str(folder.cdk_home)]


def test_up_prints_the_url_of_the_port(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options: list[tuple[int | None, bool]] = []

    def up(folder: Folder, *, port: int | None, keep: bool) -> RunningSageMaker:
        options.append((port, keep))
        return RUNNING

    monkeypatch.setattr(lifecycle, "up", up)
    assert (main(["up"]), main(["up", "--port", "4566", "--keep"])) == (0, 0)
    assert options == [(None, False), (4566, True)]
    message = (
        f"local SageMaker at http://127.0.0.1:4566, log {folder.log}\n"
        "dashboard: http://127.0.0.1:4566/_local_sagemaker/\n"
        "at most 2 processes per variant represent its instances\n"
    )
    assert capsys.readouterr().out == message * 2


def test_up_sets_instances_and_speed(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (INSTANCES, SPEED):
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr(lifecycle, "up", lambda *_, **__: RUNNING)
    assert main(["up", "--instances", "3", "--speed", "10"]) == 0
    assert [os.environ[name] for name in (INSTANCES, SPEED)] == ["3", "10"]
    assert "at most 3 processes per variant represent" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--instances", "--speed"])
def test_invalid_number_is_an_error(
    folder: Folder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    option: str,
) -> None:
    for name in (INSTANCES, SPEED):
        monkeypatch.setenv(name, "1")
    assert main(["up", option, "many"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert "is 'many'" in error
    assert folder.running() is None


def test_down_without_a_running_local_sagemaker(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["down"]) == 0
    assert capsys.readouterr().out == "no local SageMaker is running\n"
