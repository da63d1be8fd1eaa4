import subprocess
from pathlib import Path

import pytest

from delivery.errors import NotDelivered
from delivery.repository import Repository


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "prod.yaml").write_text("region: eu-west-1\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    monkeypatch.chdir(tmp_path / "stages")
    return Repository.here()


def test_the_repository_is_found_from_a_folder_in_it(
    repository: Repository, tmp_path: Path
) -> None:
    assert repository.root == tmp_path.resolve()


def test_outside_of_a_repository_nothing_is_delivered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotDelivered, match="not a git repository"):
        Repository.here()


def test_a_clean_tree_is_a_commit(repository: Repository) -> None:
    assert repository.committed() == git(repository.root, "rev-parse", "HEAD")


@pytest.mark.parametrize("path", ["stages/prod.yaml", "stages/new.yaml"])
def test_a_changed_or_new_file_makes_it_none(repository: Repository, path: str) -> None:
    (repository.root / path).write_text("region: us-east-1\n")
    assert repository.committed() is None


def test_an_earlier_commit_is_checked_out_beside_the_tree(repository: Repository) -> None:
    first = git(repository.root, "rev-parse", "HEAD")
    (repository.root / "stages" / "prod.yaml").write_text("region: us-east-1\n")
    git(repository.root, "commit", "--quiet", "--all", "--message", "second")
    with repository.checked_out(first) as tree:
        assert tree.region("prod") == "eu-west-1"
        assert repository.region("prod") == "us-east-1"
    assert not tree.root.exists()
    assert git(repository.root, "worktree", "list").count("\n") == 0


def test_a_commit_that_the_clone_lacks_is_named_with_the_way_out(repository: Repository) -> None:
    missing = pytest.raises(NotDelivered, match=r"(?s)0{40}.*git fetch --unshallow")
    with missing, repository.checked_out("0" * 40):
        pass


def test_a_stage_that_is_not_there_is_named(repository: Repository) -> None:
    with pytest.raises(NotDelivered, match=r"there is no stages/pord\.yaml"):
        repository.region("pord")


def test_a_stage_without_a_region_is_named(repository: Repository) -> None:
    (repository.root / "stages" / "prod.yaml").write_text("release: '25.09'\n")
    with pytest.raises(NotDelivered, match=r"stages/prod\.yaml has no region"):
        repository.region("prod")
