"""Model archives: reproducible bytes, and readable with the standard library."""

import gzip
import io
import os
import random
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_build import archive
from tests.unit.model_build.trees import Tree, trees, write

names = st.text("abcZ09_-.é ", min_size=1, max_size=120).filter(lambda name: name.strip(". "))
any_tree = trees(names, max_bytes=2000)


def _pack(folder: Path, to: Path) -> Path:
    archive.pack(folder, to)
    return to


@given(tree=any_tree, seconds=st.integers(0, 2**31))
def test_equal_trees_give_equal_bytes(tree: Tree, seconds: int) -> None:
    with TemporaryDirectory() as scratch:
        original = write(tree, Path(scratch, "one"))
        umask = os.umask(0o077)
        try:
            copy = write(dict(reversed(tree.items())), Path(scratch, "some", "where", "else"))
        finally:
            os.umask(umask)
        for path in copy.rglob("*"):
            os.utime(path, (seconds, seconds))
        archive_file = _pack(original, Path(scratch, "one.tar.gz"))
        copy_file = _pack(copy, Path(scratch, "copy.tar.gz"))
        assert archive_file.read_bytes() == copy_file.read_bytes()


@given(any_tree)
def test_tarfile_unpacks_the_packed_tree(tree: Tree) -> None:
    with TemporaryDirectory() as scratch:
        archive_file = _pack(write(tree, Path(scratch, "folder")), Path(scratch, "packed.tar.gz"))
        plain = gzip.decompress(archive_file.read_bytes())
        with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
            tar.extraction_filter = getattr(tarfile, "data_filter", None)
            tar.extractall(Path(scratch, "unpacked"))
        unpacked = {
            path.relative_to(scratch).parts[1:]: path.read_bytes()
            for path in Path(scratch, "unpacked").rglob("*")
            if path.is_file()
        }
        assert unpacked == tree


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return write({("b", "1", "model.py"): b"12345", ("a.txt",): b"678"}, tmp_path / "repository")


def test_empty_folder_is_kept(repository: Path, tmp_path: Path) -> None:
    (repository / "ensemble" / "1").mkdir(parents=True)  # Triton requires a version folder
    archive_file = _pack(repository, tmp_path / "packed.tar.gz")
    with tarfile.open(archive_file) as tar:
        assert tar.getmember("ensemble/1").isdir()


def test_of_all_metadata_only_the_executable_bit_is_kept(repository: Path, tmp_path: Path) -> None:
    (repository / "a.txt").chmod(0o600)
    (repository / "b" / "1" / "model.py").chmod(0o700)
    archive_file = _pack(repository, tmp_path / "packed.tar.gz")
    with tarfile.open(archive_file) as tar:
        entries = tar.getmembers()
    modes = {entry.name: entry.mode for entry in entries}
    assert modes == {"a.txt": 0o644, "b": 0o755, "b/1": 0o755, "b/1/model.py": 0o755}
    assert {(e.uid, e.gid, e.uname, e.gname, e.mtime) for e in entries} == {(0, 0, "", "", 0)}


def test_bytes_do_not_depend_on_the_number_of_cores(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Several blocks of ISA-L's threads, partly compressible.
    content = random.Random(1).randbytes(1_500_000) + b"text " * 300_000
    (repository / "weights.bin").write_bytes(content)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with_one_core = _pack(repository, tmp_path / "one.tar.gz")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    with_all_cores = _pack(repository, tmp_path / "many.tar.gz")
    assert with_all_cores.read_bytes() == with_one_core.read_bytes()
    assert with_one_core.stat().st_size < len(content)
