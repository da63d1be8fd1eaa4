import os
import subprocess
from pathlib import Path

import pytest

from local_aws.folder import Folder, Running


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_everything_lies_in_dot_local_aws_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Folder.default()
    assert folder.root == tmp_path.resolve() / ".local_aws"
    parts = (folder.builds, folder.instances, folder.backends, folder.temporary, folder.cdk_home)
    assert {path.parent for path in (*parts, folder.log)} == {folder.root}
    assert len({*parts, folder.log}) == 6


def test_a_local_aws_that_was_remembered_is_found(folder: Folder) -> None:
    running = Running(pid=os.getpid(), port=4566)
    folder.remember(running)
    assert folder.running() == running
    assert running.url == "http://127.0.0.1:4566"


def test_nothing_runs_on_a_folder_that_remembers_nothing(folder: Folder, tmp_path: Path) -> None:
    assert folder.running() is None
    assert Folder(tmp_path / "none").running() is None


def test_a_process_that_has_ended_does_not_run(folder: Folder) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    folder.remember(Running(pid=ended.pid, port=4566))
    assert folder.running() is None


def test_what_is_forgotten_is_not_found_and_may_be_forgotten_again(folder: Folder) -> None:
    folder.remember(Running(pid=os.getpid(), port=4566))
    folder.forget()
    folder.forget()
    assert folder.running() is None


def test_the_last_start_is_remembered(folder: Folder) -> None:
    folder.remember(Running(pid=os.getpid(), port=1))
    folder.remember(Running(pid=os.getpid(), port=2))
    assert folder.running() == Running(pid=os.getpid(), port=2)
