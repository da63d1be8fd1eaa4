"""The digest names what is built: all of a model's content counts, and nothing else does."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from model_build import digest, digest_of
from tests.unit.model_build.trees import Tree, can_be_written, trees, write

names = st.text("abcZ09_-é ", min_size=1, max_size=4).filter(lambda name: name != "tests")
any_tree = trees(names, bytes_of_a_file=16)
ignored_names = st.sampled_from(["__pycache__", "a.pyc", ".git", ".DS_Store", "tests"])


def digest_of_tree(tree: Tree) -> str:
    with TemporaryDirectory() as folder:
        return digest_of(write(tree, Path(folder)))


@given(tree=any_tree, seconds=st.integers(0, 2**31), mode=st.sampled_from([0o600, 0o644, 0o664]))
def test_neither_times_nor_who_may_read_nor_the_order_of_writing_nor_the_place_count(
    tree: Tree, seconds: int, mode: int
) -> None:
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        write(tree, Path(one))
        elsewhere = write(dict(reversed(tree.items())), Path(other, "else", "where"))
        for path in elsewhere.rglob("*"):
            os.utime(path, (seconds, seconds))
            if path.is_file():
                path.chmod(mode)
        assert digest_of(Path(one)) == digest_of(elsewhere)


@given(tree=any_tree, data=st.data())
def test_every_change_of_a_content_or_name_counts(tree: Tree, data: st.DataObject) -> None:
    assume(tree)
    path = data.draw(st.sampled_from(sorted(tree)))
    without = {name: content for name, content in tree.items() if name != path}
    renamed = (*path[:-1], data.draw(names))
    moved = without | {renamed: tree[path]}
    assume(renamed not in tree)
    assume(can_be_written(moved))
    edited = tree | {path: tree[path] + b"\0"}
    digests = [digest_of_tree(each) for each in (tree, without, moved, edited)]
    assert len(set(digests)) == 4


@given(tree=any_tree, ignored=ignored_names, data=st.data())
def test_what_is_no_part_of_a_model_does_not_count_at_any_depth(
    tree: Tree, ignored: str, data: st.DataObject
) -> None:
    folders = sorted({path[:cut] for path in tree for cut in range(len(path))} | {()})
    folder = data.draw(st.sampled_from(folders))
    as_file = tree | {(*folder, ignored): b"noise"}
    as_folder = tree | {(*folder, ignored, "deeper", "x"): b"noise"}
    assert digest_of_tree(as_file) == digest_of_tree(tree) == digest_of_tree(as_folder)


def test_what_is_like_an_ignored_name_counts(tmp_path: Path) -> None:
    for name in ("model.py", "pyc", "a.pyc.txt", "test", "testsuite", "my__pycache__"):
        (tmp_path / name).write_text("")
    result = [path.name for path in digest.files(tmp_path)]
    assert result == sorted(["model.py", "pyc", "a.pyc.txt", "test", "testsuite", "my__pycache__"])


def test_a_folder_whose_own_path_has_an_ignored_name_has_its_digest(tmp_path: Path) -> None:
    tree: Tree = {("a", "1", "model.py"): b"x"}
    hidden = write(tree, tmp_path / ".cache" / "tests")
    assert digest_of(hidden) == digest_of_tree(tree)


def test_the_digest_of_a_folder_stays_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A change here rebuilds every model of every user: where that is meant, raise BUILD_FORMAT.
    monkeypatch.setattr(digest, "BUILD_FORMAT", 1)
    write({("b",): b"2", ("a", "1"): b"1"}, tmp_path)
    assert digest_of(tmp_path) == (
        "05e19aaa1d0a3eb1ff9f44c53d778bddca4d8f13648253595869f963f3c363bf"
    )


def test_raising_the_build_format_changes_every_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = digest_of(tmp_path)
    monkeypatch.setattr(digest, "BUILD_FORMAT", digest.BUILD_FORMAT + 1)
    assert digest_of(tmp_path) != before
