"""Fixtures: a git clone with two commits of a stage."""

from pathlib import Path

import pytest

from release import checkout as checkouts
from release.checkout import GitCheckout

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@localhost")


def commit(clone: GitCheckout) -> str:
    """Commit all files; return the commit."""
    clone.git("add", "--all")
    clone.git(*IDENTITY, "commit", "--quiet", "--allow-empty", "--message", "a commit")
    return clone.git("rev-parse", "HEAD")


@pytest.fixture
def clone(tmp_path: Path) -> GitCheckout:
    clone = GitCheckout(tmp_path.resolve() / "clone")
    (clone.root / "stages").mkdir(parents=True)
    clone.git("init", "--quiet", "--initial-branch=main")
    for region in ("eu-west-1", "us-east-1"):
        (clone.root / "stages" / "prod.yaml").write_text(f"region: {region}\nproduction: true\n")
        commit(clone)
    return clone


@pytest.fixture(scope="session")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bytecode")


@pytest.fixture(autouse=True)
def _bytecode_in_tmp(bytecode: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkouts, "BYTECODE", bytecode)
