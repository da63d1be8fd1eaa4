import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.folder import Folder, RunningSageMaker
from local_sagemaker.tests.support.running import server_process


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def running(folder: Folder) -> Iterator[RunningSageMaker]:
    with server_process(folder, 4566) as process:
        yield RunningSageMaker(pid=process.pid, port=4566, python="3.10")


def test_ended_process_is_not_running(folder: Folder) -> None:
    with server_process(folder, 4566) as process:
        folder.write_running(RunningSageMaker(pid=process.pid, port=4566, python="3.10"))
    assert folder.running() is None
    with pytest.raises(LocalSageMakerError) as ended:
        folder.require_running()
    assert str(ended.value) == (
        f"the local SageMaker has ended: read the end of {folder.log}; `up --keep` "
        "restores what was deployed"
    )


@pytest.mark.parametrize(
    "edited",
    [
        {"pid": os.getpid()},  # `down` would end it
        {"pid": 10**30},
        {"pid": "1"},
        {"port": "1@evil.example"},  # a client would send its requests there
        {"port": 80},
        {"python": 3},
    ],
)
def test_edited_running_file_is_not_trusted(
    folder: Folder, running: RunningSageMaker, edited: dict[str, Any]
) -> None:
    folder.write_running(running)
    assert folder.running() == running
    file = folder._running_file
    file.write_text(json.dumps({**json.loads(file.read_text()), **edited}))
    assert folder.running() is None


def test_server_of_another_folder_is_ignored(
    folder: Folder, running: RunningSageMaker, tmp_path: Path
) -> None:
    copied = Folder(tmp_path / "copied")
    copied.root.mkdir()
    copied.write_running(running)
    assert copied.running() is None


def test_process_of_another_user_is_ignored(
    folder: Folder, running: RunningSageMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write_running(running)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert folder.running() is None


@pytest.mark.parametrize("text", ["", '{"pid": 1', '{"pid": 1}', "[1]", "1", "[" * 100_000])
def test_incomplete_running_file_is_ignored(folder: Folder, text: str) -> None:
    folder._running_file.write_text(text)
    assert folder.running() is None


@pytest.mark.parametrize("kind", ["link", "file"])
def test_link_or_file_in_place_of_the_folder_is_refused(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "state"
    if kind == "link":
        root.symlink_to(tmp_path)
    else:
        root.touch()
    with pytest.raises(LocalSageMakerError) as refused:
        Folder(root)
    assert str(refused.value) == (
        f"{root} is a {kind}: the local SageMaker needs a folder of this name: delete or rename it"
    )


def test_running_file_is_written_atomically(
    folder: Folder, running: RunningSageMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write_running(running)

    def fail_during_write(path: Path, text: str) -> None:
        path.open("w").close()
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_text", fail_during_write)
    with pytest.raises(OSError, match="no space left"):
        folder.write_running(RunningSageMaker(pid=os.getpid(), port=2, python="3.10"))
    assert folder.running() == running
