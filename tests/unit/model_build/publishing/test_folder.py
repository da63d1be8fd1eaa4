"""Archives on disk are written completely or not at all."""

import tarfile
from pathlib import Path

import pytest

from model_build.build import Build
from model_build.publishing.folder import save_archive
from model_build.triton_load import skip_load
from tests.unit.model_build.fakes import ProgressLines


@pytest.mark.parametrize("previous", [None, b"older"])
def test_failed_packing_leaves_the_previous_archive(
    finished_build: Build, tmp_path: Path, progress_lines: ProgressLines, previous: bytes | None
) -> None:
    path = tmp_path / "out" / "doubled-abc.tar.gz"
    path.parent.mkdir()
    if previous:
        path.write_bytes(previous)
    (finished_build.folder / "double" / "1" / "dangling.bin").symlink_to(tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        save_archive(finished_build, path, load=skip_load("a test"), progress=progress_lines)
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == (
        {path.name: previous} if previous else {}
    )


def test_partial_file_of_a_killed_process_is_overwritten(
    finished_build: Build, tmp_path: Path, progress_lines: ProgressLines
) -> None:
    path = tmp_path / "out" / "doubled-abc.tar.gz"
    path.parent.mkdir()
    path.with_name(f".{path.name}.partial").write_bytes(b"half an archive" * 1000)
    save_archive(finished_build, path, load=skip_load("a test"), progress=progress_lines)
    assert tarfile.is_tarfile(path)
    assert len(list(path.parent.iterdir())) == 2
