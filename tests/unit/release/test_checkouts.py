from pathlib import Path

import pytest

from release.checkouts import Clone
from release.tree import CheckoutError
from tests.unit.release.conftest import commit


def test_the_clone_is_found_from_a_folder_in_it(
    clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clone.root / "stages")
    assert Clone.here() == clone


def test_outside_of_a_clone_git_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckoutError, match="not a git repository"):
        Clone.here()


def test_a_clean_tree_is_a_commit(clone: Clone) -> None:
    assert clone.committed() == clone.git("rev-parse", "HEAD")


@pytest.mark.parametrize("path", ["stages/prod.yaml", "stages/new.yaml"])
def test_a_changed_or_new_file_makes_it_none(clone: Clone, path: str) -> None:
    (clone.root / path).write_text("region: eu-central-1\n")
    assert clone.committed() is None


def test_an_earlier_commit_is_checked_out_beside_the_tree(clone: Clone) -> None:
    with clone.checked_out("HEAD^") as tree:
        assert tree.stage("prod").region == "eu-west-1"
        assert clone.stage("prod").region == "us-east-1"
    assert not tree.root.exists()
    assert clone.git("worktree", "list").count("\n") == 0


def test_a_worktree_goes_when_what_was_done_in_it_failed(clone: Clone) -> None:
    with pytest.raises(ZeroDivisionError), clone.checked_out("HEAD^"):
        _ = 1 / 0
    assert clone.git("worktree", "list").count("\n") == 0


def test_a_commit_that_the_clone_lacks_is_named_with_the_way_out(clone: Clone) -> None:
    missing = pytest.raises(CheckoutError, match=r"(?s)0{40}.*git fetch origin 0{40}; or")
    with missing, clone.checked_out("0" * 40):
        pass


def test_a_branch_is_compared_with_where_it_began(clone: Clone) -> None:
    began = clone.head()
    clone.git("checkout", "--quiet", "-b", "change")
    commit(clone)
    clone.git("checkout", "--quiet", "main")
    (clone.root / "merged-since").touch()
    commit(clone)
    clone.git("checkout", "--quiet", "change")
    assert clone.fork_point("main") == began


def test_a_commit_of_another_history_is_compared_itself(clone: Clone) -> None:
    main = clone.head()
    clone.git("checkout", "--quiet", "--orphan", "other")
    commit(clone)
    assert clone.fork_point("main") == main


def test_a_commit_that_is_not_there_is_named(clone: Clone) -> None:
    with pytest.raises(CheckoutError, match="there is no commit nowhere: fetch it"):
        clone.fork_point("nowhere")


def test_a_commit_contains_what_came_before_it_alone(clone: Clone) -> None:
    newer = clone.head()
    assert clone.contains(clone.git("rev-parse", "HEAD^"))
    assert clone.contains(newer)
    clone.git("checkout", "--quiet", "HEAD^")
    assert not clone.contains(newer)


def test_a_shallow_clone_cannot_know_what_it_contains(clone: Clone, tmp_path: Path) -> None:
    older = clone.git("rev-parse", "HEAD^")
    clone.git("clone", "--quiet", "--depth=1", f"file://{clone.root}", str(tmp_path / "shallow"))
    with pytest.raises(CheckoutError, match=f"{older[:12]}: git fetch --unshallow"):
        Clone(tmp_path / "shallow").contains(older)


def test_a_commit_that_nobody_has_fetched_is_fetched_first(clone: Clone) -> None:
    with pytest.raises(CheckoutError, match=r"does not have commit 0{12}: git fetch origin"):
        clone.contains("0" * 40)
