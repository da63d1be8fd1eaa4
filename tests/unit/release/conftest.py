"""A repository of two commits."""

from pathlib import Path

import pytest

from release.checkouts import git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "repository"
    (root / "stages").mkdir(parents=True)
    git(root, "init", "--quiet")
    for region in ("eu-west-1", "us-east-1"):
        (root / "stages" / "prod.yaml").write_text(f"region: {region}\nproduction: true\n")
        git(root, "add", "--all")
        identity = ("-c", "user.name=test", "-c", "user.email=test@localhost")
        git(root, *identity, "commit", "--quiet", "--message", region)
    return root
