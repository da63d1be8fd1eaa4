"""An archive on disk is whole, or it is not there."""

import tarfile
from pathlib import Path

import pytest

from model_build.build import Build
from model_build.manifest import Manifest
from model_build.publishing.folder import save
from tests.unit.model_build.fakes import Lines


def test_archive_and_manifest_lie_side_by_side(
    built: Build, tmp_path: Path, progress_lines: Lines
) -> None:
    path = tmp_path / "new" / "folder" / "doubled-abc.tar.gz"
    manifest = save(built, path, progress=progress_lines)
    assert sorted(each.name for each in path.parent.iterdir()) == [
        "doubled-abc.json",
        "doubled-abc.tar.gz",
    ]
    assert tarfile.is_tarfile(path)
    assert manifest.archive["bytes"] == path.stat().st_size
    written = path.with_name("doubled-abc.json").read_bytes()
    assert Manifest.model_validate_json(written) == manifest
    assert progress_lines == [f"packing {path}"]


@pytest.mark.parametrize("there_before", [None, b"older"])
def test_packing_that_fails_leaves_what_was_there_and_nothing_else(
    built: Build, tmp_path: Path, progress_lines: Lines, there_before: bytes | None
) -> None:
    path = tmp_path / "out" / "doubled-abc.tar.gz"
    path.parent.mkdir()
    if there_before:
        path.write_bytes(there_before)
    (built.folder / "double" / "1" / "gone.bin").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        save(built, path, progress=progress_lines)
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == (
        {path.name: there_before} if there_before else {}
    )


def test_what_a_killed_process_left_is_written_over(
    built: Build, tmp_path: Path, progress_lines: Lines
) -> None:
    path = tmp_path / "out" / "doubled-abc.tar.gz"
    path.parent.mkdir()
    path.with_name(f".{path.name}.partial").write_bytes(b"half an archive" * 1000)
    save(built, path, progress=progress_lines)
    assert tarfile.is_tarfile(path)
    assert len(list(path.parent.iterdir())) == 2
