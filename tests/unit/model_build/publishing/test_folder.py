"""Archives on disk are written completely or not at all."""

import tarfile
from pathlib import Path

import pytest

from model_build.build import Build
from model_build.publishing.folder import save
from tests.unit.model_build.fakes import ProgressLines


@pytest.mark.parametrize("previous", [None, b"older"])
def test_failed_packing_leaves_the_previous_archive(
    built: Build, tmp_path: Path, progress_lines: ProgressLines, previous: bytes | None
) -> None:
    path = tmp_path / "out" / "doubled-abc.tar.gz"
    path.parent.mkdir()
    if previous:
        path.write_bytes(previous)
    (built.folder / "double" / "1" / "dangling.bin").symlink_to(tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        save(built, path, progress=progress_lines)
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == (
        {path.name: previous} if previous else {}
    )


def test_partial_file_of_a_killed_process_is_overwritten(
    built: Build, tmp_path: Path, progress_lines: ProgressLines
) -> None:
    path = tmp_path / "out" / "doubled-abc.tar.gz"
    path.parent.mkdir()
    path.with_name(f".{path.name}.partial").write_bytes(b"half an archive" * 1000)
    save(built, path, progress=progress_lines)
    assert tarfile.is_tarfile(path)
    assert len(list(path.parent.iterdir())) == 2
