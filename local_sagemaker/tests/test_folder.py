import os
import subprocess
from pathlib import Path

import pytest

from local_sagemaker.folder import Folder, RunningSageMaker


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_default_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Folder.default()
    assert folder.root == tmp_path.resolve() / ".local_sagemaker"
    subfolders = (
        folder.builds,
        folder.instances,
        folder.backends,
        folder.temporary,
        folder.cdk_home,
    )
    assert {path.parent for path in (*subfolders, folder.log)} == {folder.root}
    assert len({*subfolders, folder.log}) == 6


def test_written_state_is_read(folder: Folder) -> None:
    running = RunningSageMaker(pid=os.getpid(), port=4566, python="3.10")
    folder.write_state(running)
    assert folder.running() == running
    assert running.url == "http://127.0.0.1:4566"


def test_ended_process_is_not_running(folder: Folder) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    folder.write_state(RunningSageMaker(pid=ended.pid, port=4566, python="3.10"))
    assert folder.running() is None


def test_deleted_state_can_be_deleted_again(folder: Folder) -> None:
    folder.write_state(RunningSageMaker(pid=os.getpid(), port=4566, python="3.10"))
    folder.delete_state()
    folder.delete_state()
    assert folder.running() is None


def test_process_of_another_user_is_ignored(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(pid: int, number: int) -> None:
        raise PermissionError

    folder.write_state(RunningSageMaker(pid=os.getpid(), port=4566, python="3.10"))
    monkeypatch.setattr(os, "kill", refuse)
    assert folder.running() is None


def test_reused_process_id_is_ignored(folder: Folder) -> None:
    folder.write_state(RunningSageMaker(pid=os.getpid(), port=4566, python="3.10"))
    before = folder.require_running().start_time() - 60
    os.utime(folder._state, (before, before))
    assert folder.running() is None


@pytest.mark.parametrize("text", ["", '{"pid": 1', '{"pid": 1}', "[1]", "1"])
def test_incomplete_state_file_is_ignored(folder: Folder, text: str) -> None:
    folder.write_state(RunningSageMaker(pid=os.getpid(), port=4566, python="3.10"))
    folder._state.write_text(text)
    assert folder.running() is None


def test_state_file_is_written_atomically(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    first = RunningSageMaker(pid=os.getpid(), port=1, python="3.10")
    folder.write_state(first)

    def fail_during_write(path: Path, text: str) -> None:
        path.open("w").close()
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_text", fail_during_write)
    with pytest.raises(OSError, match="no space left"):
        folder.write_state(RunningSageMaker(pid=os.getpid(), port=2, python="3.10"))
    assert folder.running() == first
