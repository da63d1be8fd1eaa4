"""Reviews of a copy of this repository with the stage `live`, before and after a change."""

import importlib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from aws_cdk import App

import platform_facts
from release.assemblies import SynthesisedCheckout
from release.build import build_release
from release.checkout import CLI_CONTEXT, Checkout
from review.stage_review import StageReview, review_stage
from tests.unit.review.conftest import PRICES

ROOT = Path(__file__).parents[3]
COPIED_PATHS = (
    *("app.py", "cdk.json", "requirements.txt"),
    "plan",
    *("constructs", "model_build", "models", "platform_facts", "requirements", "stacks", "stages"),
)
PACKAGES = (
    *("app", "model_build", "plan", "platform_facts", "stacks", "stages"),
    "triton_sagemaker",
)
STAGE = """\
region: us-east-1
release: "25.09"
production: true
notify: { email: [team@example.com] }
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
Edit = tuple[str, str, str]
"""Path, old text and new text."""


def copy_tree(to: Path) -> Path:
    """Copy the files of the app, and add the stage `live`."""
    for name in COPIED_PATHS:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "tests", ".*")
            shutil.copytree(source, to / name, ignore=ignored)
        else:
            to.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, to)
    (to / "stages" / "live.yaml").write_text(STAGE)
    return to


def synthesise_all(
    tree: Checkout, stages: Iterable[str], *, to: Path, validate: bool = True
) -> None:
    """Synthesise with the tree's code in this process, which is faster than a new process."""
    context = {
        **json.loads((tree.root / "cdk.json").read_text())["context"],
        **CLI_CONTEXT,
        "aws:cdk:disable-creation-stack-traces": True,
    }
    with _imported_from(tree):
        for stage in stages:
            app = App(context=context, outdir=str(to / stage), stack_traces=False)
            importlib.import_module("stacks").synthesise(app, stage)


def write_release(tree: Checkout, folder: Path, stages: Iterable[str]) -> SynthesisedCheckout:
    return SynthesisedCheckout(tree.root, build_release(tree, folder, stages).folder)


@contextmanager
def _imported_from(tree: Checkout) -> Iterator[None]:
    """Import this repository's packages from a tree during the `with` block."""
    modules = _remove_modules()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", False)  # trees share it
        patch.syspath_prepend(tree.root / "constructs")
        patch.syspath_prepend(tree.root)
        yield
    _remove_modules()
    sys.modules.update(modules)


def _remove_modules() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name.partition(".")[0] in PACKAGES]
    return {name: sys.modules.pop(name) for name in names}


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Checkout, "synthesise_all", synthesise_all)
    monkeypatch.setattr(platform_facts, "prices", lambda: PRICES)


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> SynthesisedCheckout:
    folder = tmp_path_factory.mktemp("base")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkout, "synthesise_all", synthesise_all)
        return write_release(Checkout(copy_tree(folder / "tree")), folder / "assemblies", ["live"])


@dataclass(frozen=True)
class Reviewer:
    base: SynthesisedCheckout
    folder: Path

    def review(self, *edits: Edit, stages: Iterable[str] = ("live",)) -> list[StageReview]:
        """Review a change of stages against the base."""
        head: Checkout = Checkout(self.folder / "head")
        shutil.copytree(self.base.root, head.root, copy_function=os.link)
        for edit in edits:
            _apply(head, *edit)
        head_stages = [stage for stage in stages if stage in head.stages()]
        synthesised_head = write_release(head, self.folder / "assemblies", head_stages)
        return [review_stage(stage, self.base, synthesised_head) for stage in stages]


def _apply(head: Checkout, file: str, old: str, new: str) -> None:
    """Make an edit; a file without content is deleted."""
    path = head.root / file
    content = path.read_text() if old else ""
    assert old in content, (file, old)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # a hard link to the base's file
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
        compiled.unlink()
    if new_content := content.replace(old, new, 1) if old else new:
        path.write_text(new_content)


@pytest.fixture
def reviewer(base: SynthesisedCheckout, tmp_path: Path) -> Reviewer:
    return Reviewer(base, tmp_path)
