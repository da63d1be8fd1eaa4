from pathlib import Path

import pytest

import checkouts
from checkouts import CheckoutError, git, repository_root, stage_file, worktree


def test_everything_public_is_listed() -> None:
    assert sorted(checkouts.__all__) == checkouts.__all__
    assert all(hasattr(checkouts, name) for name in checkouts.__all__)


def test_the_repository_is_found_from_a_folder_in_it(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "stages")
    assert repository_root() == repository


def test_outside_of_a_repository_git_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckoutError, match="not a git repository"):
        repository_root()


def test_an_earlier_commit_is_checked_out_beside_the_tree(repository: Path) -> None:
    with worktree(repository, "HEAD^") as tree:
        assert stage_file(tree, "prod").region == "eu-west-1"
        assert stage_file(repository, "prod").region == "us-east-1"
    assert not tree.exists()
    assert git(repository, "worktree", "list").count("\n") == 0


def test_a_worktree_goes_when_what_was_done_in_it_failed(repository: Path) -> None:
    with pytest.raises(ZeroDivisionError), worktree(repository, "HEAD^"):
        _ = 1 / 0
    assert git(repository, "worktree", "list").count("\n") == 0


def test_a_commit_that_is_not_there_is_named(repository: Path) -> None:
    with pytest.raises(CheckoutError, match=r"0{40}"), worktree(repository, "0" * 40):
        pass
