"""Fixed prices, and a repository whose app copies templates instead of running the CDK."""

import json
from datetime import date
from pathlib import Path

import pytest

import platform_facts
from plan.document import Plan
from platform_facts import Prices
from release.checkout import Checkout, GitCheckout
from review import command, judge
from review.dangers import stages
from tests.unit.conftest import commit
from tests.unit.review.edits import plan_of
from tests.unit.review.resources import RESOURCES

PRICES = Prices(
    date=date(2026, 1, 1),
    source="the test",
    per_hour={"us-east-1": {"ml.g5.xlarge": 1.4, "ml.g5.2xlarge": 1.5, "ml.g5.4xlarge": 2.0}},
    by_volume=dict.fromkeys(platform_facts.prices().by_volume, "a price; unknown: an amount"),
)


PROD = plan_of((), account=None)

APP = """
import json, pathlib, shutil, sys
for stage in sys.argv[2:]:
    out = pathlib.Path(sys.argv[1], stage)
    shutil.copytree(f"assemblies/{stage}", out)
    stacks = {
        path.name.removesuffix(".template.json"): {
            "type": "aws:cloudformation:stack",
            "properties": {"templateFile": path.name, "assumeRoleArn": "deploy"},
        }
        for path in out.glob("*.template.json")
    }
    (out / "manifest.json").write_text(json.dumps({"artifacts": stacks}))
"""
CODEOWNERS = "* @octo/reviewers\n"


@pytest.fixture(autouse=True)
def _prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform_facts, "prices", lambda: PRICES)


@pytest.fixture(autouse=True)
def _incomplete_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not compare plans with the few resources of these tests; tests/synth/review does."""
    monkeypatch.setattr(stages, "mismatches", lambda *_: [])
    monkeypatch.setattr(stages, "unverified_settings", lambda *_: [])


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitCheckout:
    """A clone whose app copies assemblies, and whose files all have an owner."""
    clone = GitCheckout(tmp_path.resolve() / "clone")
    write_file(clone, "app.py", APP)
    write_file(clone, "cdk.json", "{}")
    write_file(clone, ".gitignore", "/review.out\n")
    write_file(clone, ".github/CODEOWNERS", CODEOWNERS)
    write_file(clone, "requirements.txt", "")
    write_file(clone, "stages/prod.yaml", "region: us-east-1\nproduction: true\n")
    write_file(
        clone, "assemblies/prod/prod-text.template.json", json.dumps({"Resources": RESOURCES})
    )
    write_plan(clone, PROD)
    review_in_this_process(monkeypatch)
    clone.git("init", "--quiet", "--initial-branch=main")
    commit(clone)
    monkeypatch.chdir(clone.root)
    return clone


def write_plan(tree: Checkout, plan: Plan) -> None:
    """Write the plan that the app copies into the assembly of its stage."""
    folder = tree.root / "assemblies" / plan.stage
    folder.mkdir(parents=True, exist_ok=True)
    plan.write(folder)


def review_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the review's code in this process if a base has no such code."""
    run_base = command._run_judge

    def run(base: Checkout, arguments: list[str]) -> int:
        has_code = (base.root / "review" / "judge.py").is_file()
        return run_base(base, arguments) if has_code else judge.main(arguments)

    monkeypatch.setattr(command, "_run_judge", run)


def write_file(tree: Checkout, path: str, content: str) -> Path:
    """Write a file of a tree."""
    file = tree.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    return file
