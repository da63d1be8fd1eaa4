"""`tritonsm review` in a repository whose app copies templates instead of running the CDK."""

import copy
import json
from datetime import date, timedelta
from typing import Any

import pytest

from release.checkout import GitCheckout
from review.dangers.danger import digest
from tests.tritonsm import tritonsm
from tests.unit.conftest import IDENTITY
from tests.unit.plan.plans import make_plan
from tests.unit.review.conftest import APP, write_file, write_plan
from tests.unit.review.resources import RESOURCES

DANGER = "prod/lost_rollback/prod-text.Endpoint." + digest(
    "updates are no longer rolled back by errors: 0 of 1 alarms remain"
)


def report(clone: GitCheckout) -> str:
    return (clone.root / "review.out" / "review.md").read_text()


def load_json(clone: GitCheckout) -> Any:
    return json.loads((clone.root / "review.out" / "review.json").read_text())


def acknowledge(clone: GitCheckout, *keys: str) -> date:
    """Commit acknowledgements of dangers, and return their expiry date."""
    until = date.today() + timedelta(days=30)
    lines = "".join(
        f"  - {{ danger: {key}, who: Ada, why: a trial, until: {until} }}\n" for key in keys
    )
    write_file(clone, "review/acknowledged.yaml", f"acknowledged:\n{lines}")
    clone.git("add", "review/acknowledged.yaml")
    clone.git(*IDENTITY, "commit", "--quiet", "--message", "acknowledge")
    return until


@pytest.fixture
def unsafe_clone(clone: GitCheckout) -> GitCheckout:
    """A clone with a change that removes the rollback alarms."""
    resources = copy.deepcopy(RESOURCES)
    del resources["Endpoint"]["Properties"]["DeploymentConfig"]
    write_file(
        clone, "assemblies/prod/prod-text.template.json", json.dumps({"Resources": resources})
    )
    return clone


def test_review_without_changes(clone: GitCheckout, capsys: pytest.CaptureFixture[str]) -> None:
    assert tritonsm(["review", "--base", "main"]) == 0
    assert capsys.readouterr().out == "review.out/review.md\n"
    assert report(clone).startswith("# no dangers, no change to any deployed resource\n")
    assert load_json(clone)["summary"] == "no dangers, no change to any deployed resource"
    assert [stage["stage"] for stage in load_json(clone)["stages"]] == ["prod"]
    assert load_json(clone)["complete"]


def test_danger_exits_with_3_until_acknowledged(
    unsafe_clone: GitCheckout, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tritonsm(["review", "--base", "main"]) == 3
    assert capsys.readouterr().err.endswith(f": 0 of 1 alarms remain\n  {DANGER}\n")
    assert f"`{DANGER}`" in report(unsafe_clone)
    until = acknowledge(unsafe_clone, DANGER)
    assert tritonsm(["review", "--base", "main", "prod"]) == 0
    assert f"acknowledged by Ada until {until}: a trial" in report(unsafe_clone)


def test_invalid_acknowledgement_exits_with_4(
    unsafe_clone: GitCheckout, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(unsafe_clone, "review/acknowledged.yaml", "acknowledged:\n  - danger: nothing\n")
    assert tritonsm(["review", "--base", "main"]) == 4
    assert "review/acknowledged.yaml:2" in capsys.readouterr().err
    assert "review/acknowledged.yaml:2" in report(unsafe_clone)


def test_stage_whose_synthesis_fails_is_not_reviewed(
    clone: GitCheckout, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(clone, "stages/other.yaml", "region: us-east-1\n")
    write_plan(clone, make_plan("other"))
    error = "stages/prod.yaml:3: no such model"
    fail_prod = f"""if stage == 'prod':
        pathlib.Path(f'{{out}}.error').write_text('{error}')
        continue
    shutil.copytree"""
    write_file(clone, "app.py", APP.replace("shutil.copytree", fail_prod))
    assert tritonsm(["review", "--base", "main"]) == 4
    assert "not reviewed: prod: stages/prod.yaml:3: no such model\n" in capsys.readouterr().err
    assert "Not everything was reviewed" in report(clone)
    assert "- **prod**: stages/prod.yaml:3: no such model\n" in report(clone)
    assert [stage["stage"] for stage in load_json(clone)["stages"]] == ["other"]
    assert not load_json(clone)["complete"]


def test_missing_base_exits_with_4(clone: GitCheckout) -> None:
    assert tritonsm(["review", "--base", "main"]) == 0
    assert tritonsm(["review", "--base", "orgin/main"]) == 4
    for name in ("review.md", "review.json"):
        message = (clone.root / "review.out" / name).read_text()
        assert "there is no commit orgin/main: fetch it, or write another BASE" in message
        assert clone.git("rev-parse", "HEAD")[:12] in message
        assert "no change" not in message
        assert "No danger" not in message
