"""`python -m release.review` in a repository whose app needs no CDK."""

import copy
import json
from datetime import date, timedelta

import boto3
import pytest
from botocore.exceptions import NoCredentialsError

from release.checkouts import Clone
from release.review.__main__ import main
from tests.unit.release.conftest import commit
from tests.unit.release.review.conftest import APP, write
from tests.unit.release.review.resources import RESOURCES


def report(clone: Clone) -> str:
    return (clone.root / "review.out" / "review.md").read_text()


@pytest.fixture
def dangerous(clone: Clone) -> Clone:
    """A clone with a change that takes the rollback away."""
    resources = copy.deepcopy(RESOURCES)
    del resources["Endpoint"]["Properties"]["DeploymentConfig"]
    write(clone, "assemblies/prod/prod-text.template.json", json.dumps({"Resources": resources}))
    return clone


def test_no_change_is_said_in_every_form(clone: Clone, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--base", "main"]) == 0
    assert capsys.readouterr().out == "review.out/review.md\n"
    assert "**prod**: no change to any deployed resource" in report(clone)
    page = (clone.root / "review.out" / "review.html").read_text()
    assert "no change to any deployed resource" in page
    written = json.loads((clone.root / "review.out" / "review.json").read_text())
    assert [it["stage"] for it in written["stages"]] == ["prod"]


def test_a_danger_ends_with_3_until_somebody_acknowledges_it(
    dangerous: Clone, capsys: pytest.CaptureFixture[str]
) -> None:
    key = "prod/lost_rollback/prod-text"
    assert main(["--base", "main"]) == 3
    assert capsys.readouterr().err.endswith(f", before by 1\n  {key}\n")
    assert f"`{key}`" in report(dangerous)
    until = date.today() + timedelta(days=30)
    line = f"{{ danger: {key}, who: Ada, why: a trial, until: {until} }}"
    write(dangerous, "release/acknowledged.yaml", f"acknowledged:\n  - {line}\n")
    assert main(["--base", "main", "--stage", "prod"]) == 0
    assert f"acknowledged by Ada until {until}: a trial" in report(dangerous)


def test_an_acknowledgement_of_no_danger_is_reported(
    dangerous: Clone, capsys: pytest.CaptureFixture[str]
) -> None:
    until = date.today() + timedelta(days=30)
    keys = ("prod/lost_rollback/prod-texts", "prd/low_minimum/x", "repository/widened_workflows/a")
    lines = "".join(
        f"  - {{ danger: {it}, who: Ada, why: a trial, until: {until} }}\n" for it in keys
    )
    write(dangerous, "release/acknowledged.yaml", f"acknowledged:\n{lines}")
    assert main(["--base", "main"]) == 3
    said = capsys.readouterr().err
    assert [it for it in keys if f"note: acknowledged, and no danger: {it}\n" in said] == [*keys]
    assert all(f"- `{it}` (Ada, until {until})" in report(dangerous) for it in keys)
    main(["--base", "main", "--stage", "prod"])
    assert "prd/low_minimum" not in capsys.readouterr().err
    main(["--base", "nowhere"])
    assert "prod/lost_rollback" not in capsys.readouterr().err


def test_a_workflow_that_may_do_more_is_a_danger_of_the_repository(
    clone: Clone, capsys: pytest.CaptureFixture[str]
) -> None:
    write(clone, ".github/workflows/new.yml", "on: pull_request_target\npermissions: {}\n")
    assert main(["--base", "main"]) == 3
    key = "repository/widened_workflows/new.yml.pull_request_target"
    assert f"  {key}\n" in capsys.readouterr().err
    assert "## The repository\n\n### Danger\n\n- ❌ new.yml: it is set off by" in report(clone)


def test_a_broken_acknowledgement_ends_with_1_and_its_place(
    dangerous: Clone, capsys: pytest.CaptureFixture[str]
) -> None:
    write(dangerous, "release/acknowledged.yaml", "acknowledged:\n  - danger: nothing\n")
    assert main(["--base", "main"]) == 1
    assert "release/acknowledged.yaml:2" in capsys.readouterr().err


def test_a_head_that_cannot_be_synthesised_ends_with_1_and_its_reason(
    clone: Clone, capsys: pytest.CaptureFixture[str]
) -> None:
    write(clone, "app.py", "import sys; sys.exit('error: stages/prod.yaml:3: no such model')")
    assert main(["--base", "main"]) == 1
    assert capsys.readouterr().err == "error: stages/prod.yaml:3: no such model\n"


def test_a_base_that_cannot_be_synthesised_leaves_the_head_alone(clone: Clone) -> None:
    write(clone, "app.py", "import sys; sys.exit('error: broken then')")
    commit(clone)
    write(clone, "app.py", APP)
    assert main(["--base", "main"]) == 0
    assert "Reviewed alone, without a base: broken then" in report(clone)


def test_a_base_that_is_not_there_leaves_the_head_alone(clone: Clone) -> None:
    assert main(["--base", "nowhere"]) == 0
    assert "Reviewed alone, without a base: there is no commit nowhere" in report(clone)


def test_a_stage_that_leaves_is_reviewed_too(clone: Clone) -> None:
    (clone.root / "stages" / "prod.yaml").unlink()
    assert main(["--base", "main"]) == 3
    assert "## prod" in report(clone)


def test_a_stage_that_is_nowhere_is_named(clone: Clone, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--base", "main", "--stage", "pord"]) == 1
    assert capsys.readouterr().err.startswith("error: no stage 'pord': ")


def test_what_is_deployed_is_asked_for_by_stage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--live"])
    assert ended.value.code == 2
    assert "add --stage" in capsys.readouterr().err


def test_aws_that_refuses_ends_with_1(
    clone: Clone, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise NoCredentialsError

    monkeypatch.setattr(boto3, "client", refuse)
    assert main(["--live", "--stage", "prod"]) == 1
    assert "error: AWS: Unable to locate credentials" in capsys.readouterr().err
