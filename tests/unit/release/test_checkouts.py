"""Tests of clones and temporary worktrees, with real git."""

from pathlib import Path

import pytest

from release.checkout import CheckoutError, GitCheckout
from tests.unit.conftest import commit


def test_clone_of_a_subfolder(clone: GitCheckout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clone.root / "stages")
    assert GitCheckout.of_working_directory() == clone


def test_folder_without_a_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckoutError, match="not a git repository"):
        GitCheckout.of_working_directory()


@pytest.mark.parametrize("path", ["stages/prod.yaml", "stages/new.yaml"])
def test_changed_or_new_file_makes_the_tree_dirty(clone: GitCheckout, path: str) -> None:
    assert not clone.is_dirty()
    (clone.root / path).write_text("region: eu-central-1\n")
    assert clone.is_dirty()


def test_earlier_commit_is_checked_out_in_a_worktree(clone: GitCheckout) -> None:
    with clone.checked_out("HEAD^") as tree:
        assert tree.stage("prod").region == "eu-west-1"
        assert clone.stage("prod").region == "us-east-1"
    assert not tree.root.exists()


def test_worktree_is_removed_after_an_error(clone: GitCheckout) -> None:
    with pytest.raises(ZeroDivisionError), clone.checked_out("HEAD^"):
        _ = 1 / 0
    assert clone.git("worktree", "list").count("\n") == 0


def test_missing_commit_is_an_error(clone: GitCheckout) -> None:
    with pytest.raises(CheckoutError, match="there is no commit nowhere: fetch it"):
        clone.fork_point("nowhere")


def test_fork_point_is_the_merge_base(clone: GitCheckout) -> None:
    base_commit = clone.head()
    clone.git("checkout", "--quiet", "-b", "change")
    commit(clone)
    clone.git("checkout", "--quiet", "main")
    (clone.root / "later-file").touch()
    commit(clone)
    clone.git("checkout", "--quiet", "change")
    assert clone.fork_point("main") == base_commit


def test_fork_point_without_common_history_is_the_branch(clone: GitCheckout) -> None:
    main_commit = clone.head()
    clone.git("checkout", "--quiet", "--orphan", "other")
    commit(clone)
    assert clone.fork_point("main") == main_commit
