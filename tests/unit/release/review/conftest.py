"""Prices that no refresh of the table changes, and a repository whose app needs no CDK."""

import json
from datetime import date
from pathlib import Path

import pytest

import platform_facts
from platform_facts import Prices
from release.checkouts import Clone
from release.review import command, judge
from release.tree import Tree
from tests.unit.release.conftest import commit
from tests.unit.release.review.resources import RESOURCES

PRICES = Prices(
    date=date(2026, 1, 1),
    source="the test",
    per_hour={"us-east-1": {"ml.g5.xlarge": 1.4, "ml.g5.2xlarge": 1.5, "ml.g5.4xlarge": 2.0}},
)


APP = """
import json, os, pathlib, shutil
stage = json.loads(os.environ["CDK_CONTEXT_JSON"])["stage"]
out = pathlib.Path(os.environ["CDK_OUTDIR"])
shutil.copytree(f"assemblies/{stage}", out, dirs_exist_ok=True)
stacks = {
    path.name.removesuffix(".template.json"): {
        "type": "aws:cloudformation:stack",
        "properties": {"templateFile": path.name, "assumeRoleArn": "deploy"},
    }
    for path in out.glob("*.template.json")
}
(out / "manifest.json").write_text(json.dumps({"artifacts": stacks}))
"""
LINTERS = {"bin/cfn-lint": "[]", ".venv-checkov/bin/checkov": '{"results": {"failed_checks": []}}'}


@pytest.fixture(autouse=True)
def _prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform_facts, "prices", lambda: PRICES)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    """A clone whose app copies templates, and whose linters find nothing."""
    clone = Clone(tmp_path.resolve() / "clone")
    write(clone, "app.py", APP)
    write(clone, "cdk.json", "{}")
    write(clone, ".gitignore", "/.venv-checkov\n/review.out\n")
    write(clone, "requirements.txt", "")
    write(clone, "stages/prod.yaml", "region: us-east-1\nproduction: true\n")
    write(clone, "assemblies/prod/prod-text.template.json", json.dumps({"Resources": RESOURCES}))
    write(clone, "model_build/__main__.py", "print([])")
    for path, said in LINTERS.items():
        write(clone, path, f"#!/bin/sh\necho '{said}'\n").chmod(0o755)
    monkeypatch.setattr("release.tree.PROGRAMS", clone.root / "bin")
    review_in_this_process(monkeypatch)
    clone.git("init", "--quiet", "--initial-branch=main")
    commit(clone)
    monkeypatch.chdir(clone.root)
    return clone


def review_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the review's code in this process where a base has none of its own."""
    run_base = command._judge

    def run(base: Tree, arguments: list[str]) -> int:
        has_code = (base.root / "release" / "review" / "judge.py").is_file()
        return run_base(base, arguments) if has_code else judge.main(arguments)

    monkeypatch.setattr(command, "_judge", run)


def write(tree: Tree, path: str, content: str) -> Path:
    """Write a file of a tree."""
    file = tree.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    return file
