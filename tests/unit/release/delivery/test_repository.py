from pathlib import Path

import pytest

from release.checkouts import CheckoutError, git
from release.delivery.repository import Repository


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "prod.yaml").write_text("region: eu-west-1\n")
    git(tmp_path, "init", "--quiet")
    monkeypatch.chdir(tmp_path / "stages")
    repository = Repository.here()
    commit(repository)
    return repository


def commit(repository: Repository) -> None:
    identity = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    git(repository.root, "add", "--all")
    git(repository.root, *identity, "commit", "--quiet", "--message", "a commit")


def test_a_clean_tree_is_a_commit(repository: Repository) -> None:
    assert repository.committed() == git(repository.root, "rev-parse", "HEAD")


@pytest.mark.parametrize("path", ["stages/prod.yaml", "stages/new.yaml"])
def test_a_changed_or_new_file_makes_it_none(repository: Repository, path: str) -> None:
    (repository.root / path).write_text("region: us-east-1\n")
    assert repository.committed() is None


def test_an_earlier_commit_has_its_own_stages_and_models(repository: Repository) -> None:
    first = git(repository.root, "rev-parse", "HEAD")
    (repository.root / "stages" / "prod.yaml").write_text("region: us-east-1\n")
    commit(repository)
    with repository.checked_out(first) as tree:
        assert tree.region("prod") == "eu-west-1"
        assert tree.models == tree.root / "models"
        assert repository.region("prod") == "us-east-1"


def test_a_commit_that_the_clone_lacks_is_named_with_the_way_out(repository: Repository) -> None:
    missing = pytest.raises(CheckoutError, match=r"(?s)0{40}.*git fetch --unshallow")
    with missing, repository.checked_out("0" * 40):
        pass
