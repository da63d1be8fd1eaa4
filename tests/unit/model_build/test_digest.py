"""Digest of a model folder: depends on the content, and on nothing else."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from model_build import compute_digest, digest
from tests.unit.model_build.trees import Tree, is_writable, trees, write

file_names = st.text("abcZ09_-é ", min_size=1, max_size=4).filter(lambda name: name != "tests")
any_tree = trees(file_names, max_bytes=16)
ignored_names = st.sampled_from(["__pycache__", "a.pyc", ".git", ".DS_Store", "tests"])


def digest_of_tree(tree: Tree) -> str:
    with TemporaryDirectory() as folder:
        return compute_digest(write(tree, Path(folder)))


@given(tree=any_tree, seconds=st.integers(0, 2**31), mode=st.sampled_from([0o600, 0o644, 0o664]))
def test_digest_ignores_times_modes_order_and_location(tree: Tree, seconds: int, mode: int) -> None:
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        write(tree, Path(first))
        copy = write(dict(reversed(tree.items())), Path(second, "other", "folder"))
        for path in copy.rglob("*"):
            os.utime(path, (seconds, seconds))
            if path.is_file():
                path.chmod(mode)
        assert compute_digest(Path(first)) == compute_digest(copy)


@given(tree=any_tree, data=st.data())
def test_content_and_name_change_the_digest(tree: Tree, data: st.DataObject) -> None:
    assume(tree)
    path = data.draw(st.sampled_from(sorted(tree)))
    smaller_tree = {name: content for name, content in tree.items() if name != path}
    new_path = (*path[:-1], data.draw(file_names))
    renamed_tree = smaller_tree | {new_path: tree[path]}
    assume(new_path not in tree)
    assume(is_writable(renamed_tree))
    edited_tree = tree | {path: tree[path] + b"\0"}
    digests = [
        digest_of_tree(variant) for variant in (tree, smaller_tree, renamed_tree, edited_tree)
    ]
    assert len(set(digests)) == 4


@given(tree=any_tree, ignored_name=ignored_names, data=st.data())
def test_digest_ignores_non_model_files_at_any_depth(
    tree: Tree, ignored_name: str, data: st.DataObject
) -> None:
    folders = sorted({path[:depth] for path in tree for depth in range(len(path))} | {()})
    folder = data.draw(st.sampled_from(folders))
    as_file = tree | {(*folder, ignored_name): b"noise"}
    as_folder = tree | {(*folder, ignored_name, "deeper", "x"): b"noise"}
    assert digest_of_tree(as_file) == digest_of_tree(tree) == digest_of_tree(as_folder)


def test_names_similar_to_ignored_names_are_not_ignored(tmp_path: Path) -> None:
    file_names = ["model.py", "pyc", "a.pyc.txt", "test", "testsuite", "my__pycache__"]
    for name in file_names:
        (tmp_path / name).write_text("")
    assert [path.name for path in digest.model_files(tmp_path)] == sorted(file_names)


def test_digest_ignores_names_of_parent_folders(tmp_path: Path) -> None:
    tree: Tree = {("a", "1", "model.py"): b"x"}
    hidden = write(tree, tmp_path / ".cache" / "tests")
    assert compute_digest(hidden) == digest_of_tree(tree)


def test_digest_is_stable_across_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A changed digest rebuilds every model of every user: raise BUILD_FORMAT if that is intended.
    monkeypatch.setattr(digest, "BUILD_FORMAT", 1)
    write({("b",): b"2", ("a", "1"): b"1"}, tmp_path)
    assert compute_digest(tmp_path) == (
        "05e19aaa1d0a3eb1ff9f44c53d778bddca4d8f13648253595869f963f3c363bf"
    )


def test_build_format_changes_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = compute_digest(tmp_path)
    monkeypatch.setattr(digest, "BUILD_FORMAT", digest.BUILD_FORMAT + 1)
    assert compute_digest(tmp_path) != before
