"""`python -m release.review` in a repository of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.synth.review.conftest import ROOT, STAGE, copy_tree


@dataclass(frozen=True)
class Repository:
    path: Path

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=test", "-c", "user.email=test@localhost")
        subprocess.run(["git", *identity, *arguments], cwd=self.path, check=True)

    def review(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "release.review", *arguments],
            cwd=self.path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )

    def report(self) -> str:
        return (self.path / "review.out" / "review.md").read_text()

    def write_stage(self, content: str) -> None:
        (self.path / "stages" / "live.yaml").write_text(content)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    path = copy_tree(tmp_path_factory.mktemp("review") / "repository")
    for stage in (path / "stages").glob("*.yaml"):
        if stage.stem != "live":
            stage.unlink()
    for name in (".gitignore", ".checkov.yaml", ".cfnlintrc.yaml"):
        (path / name).write_bytes((ROOT / name).read_bytes())
    (path / ".venv-checkov").symlink_to(ROOT / ".venv-checkov")
    repository = Repository(path)
    repository.git("init", "--quiet", "--initial-branch=main")
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message", "all")
    return repository


def test_no_change_is_said_and_ends_with_0(repository: Repository) -> None:
    finished = repository.review("--base", "main")
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == "review.out/review.md\n"
    assert "**live**: no change to any deployed resource" in repository.report()
    page = (repository.path / "review.out" / "review.html").read_text()
    assert "no change to any deployed resource" in page


def test_a_danger_ends_with_3_until_somebody_takes_it_on(repository: Repository) -> None:
    repository.write_stage(STAGE.replace("production: true\n", "").replace("count: 2", "count: 1"))
    first = repository.review("--base", "main")
    assert first.returncode == 3, first.stderr
    keys = [line.strip() for line in first.stderr.splitlines() if line.startswith("  ")]
    assert keys
    written = repository.report()
    assert all(f"`{key}`" in written for key in keys)
    lines = [
        f"  - {{ danger: {json.dumps(key)}, who: Ada, why: a trial, until: 2999-12-31 }}"
        for key in keys
    ]
    acknowledged = repository.path / "release" / "acknowledged.yaml"
    acknowledged.parent.mkdir()
    acknowledged.write_text("\n".join(["acknowledged:", *lines, ""]))
    second = repository.review("--base", "main", "--stage", "live")
    acknowledged.unlink()
    repository.write_stage(STAGE)
    assert second.returncode == 0, second.stderr
    assert "taken on by Ada until 2999-12-31: a trial" in repository.report()


def test_a_head_that_cannot_be_synthesised_ends_with_1_and_its_reason(
    repository: Repository,
) -> None:
    repository.write_stage(STAGE.replace("ml.g5.2xlarge", "ml.g4dn.xlarge"))
    finished = repository.review("--base", "main")
    repository.write_stage(STAGE)
    assert finished.returncode == 1
    assert "stages/live.yaml" in finished.stderr
    assert "model.plan: an engine for compute capability 7.5" in finished.stderr


def test_a_base_that_is_not_there_leaves_the_head_alone(repository: Repository) -> None:
    finished = repository.review("--base", "nowhere")
    assert finished.returncode == 0, finished.stderr
    assert "Reviewed alone, without a base: there is no commit nowhere" in repository.report()


def test_what_is_deployed_is_asked_for_by_stage(repository: Repository) -> None:
    finished = repository.review("--live")
    assert finished.returncode == 2
    assert "add --stage" in finished.stderr
