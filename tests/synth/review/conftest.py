"""Two trees: the repository with a stage of its own, and the same with a small change."""

import shutil
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

import pytest

import platform_facts
from platform_facts import Prices
from release.review.report import StageReview, review_stage
from release.review.templates import Synthesis, Tree

ROOT = Path(__file__).parents[3]
COPIED = (
    *("app.py", "cdk.json", "requirements.txt", "requirements-gpu.txt", "checked_yaml.py"),
    *("constructs", "model_build", "models", "platform_facts", "stacks", "stages"),
)
STAGE = """\
region: us-east-1
release: "25.09"
production: true
private_network: true
endpoints:
  text:
    models: [minilm]
    instance_type: ml.g5.xlarge
    instance_count: 2
    scaling: { min_count: 2, max_count: 10, max_rps: 60 }
    update: { strategy: canary, percent: 10, wait_seconds: 600 }
  vision:
    models: [resnet50, resnet50-tensorrt]
    instance_type: ml.g5.2xlarge
    instance_count: 2
"""
TODAY = date(2026, 11, 21)
PRICES = Prices(
    date=date(2026, 1, 1),
    source="the test",
    per_hour={"us-east-1": {"ml.g5.xlarge": 1.4, "ml.g5.2xlarge": 1.5, "ml.g5.4xlarge": 2.0}},
)

Edit = tuple[str, str, str]
"""A file, a text in it, and what stands there afterwards."""


class SynthesisedOnce(Tree):
    """A tree that does not change."""

    @cache  # noqa: B019
    def synth(self, stage: str) -> Synthesis:
        return super().synth(stage)


def copy_tree(to: Path) -> Path:
    """Copy what the app is made of, and add the stage `live`."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "tests", ".*")
            shutil.copytree(source, to / name, ignore=ignored)
        else:
            to.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, to)
    (to / "stages" / "live.yaml").write_text(STAGE)
    return to


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return SynthesisedOnce(copy_tree(tmp_path_factory.mktemp("base") / "tree"))


@pytest.fixture(autouse=True)
def _prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform_facts, "prices", lambda: PRICES)


@dataclass(frozen=True)
class Reviewer:
    base: Tree
    folder: Path

    def review(self, *edits: Edit) -> StageReview:
        """Review a change against the base."""
        head = Tree(Path(shutil.copytree(self.base.root, self.folder / "head")))
        for file, old, new in edits:
            path = head.root / file
            if not old:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(new)
                continue
            content = path.read_text()
            assert old in content, (file, old)
            path.write_text(content.replace(old, new, 1))
        return review_stage("live", self.base, head, today=TODAY, missing=None, lint=lambda _: [])


@pytest.fixture
def reviewer(base: Tree, tmp_path: Path) -> Reviewer:
    return Reviewer(base, tmp_path)
