"""Tests of `tritonsm deploy` without the cdk CLI."""

import argparse
from pathlib import Path
from unittest.mock import Mock

import pytest

from cli import deploy
from cli.__main__ import main
from cli.errors import CommandError
from delivery import cdk
from delivery.assembly import Assembly
from delivery.deploy import StageDeployment
from local_sagemaker import Folder
from plan.document import Plan
from release.checkout import WITHOUT_VALIDATION, Checkout, NotSynthesised
from tests.processes import run_main
from tests.unit.plan.plans import make_endpoint, make_model, make_plan
from tests.unit.test_repository import ROOT


def test_failed_synth_ends_before_aws_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    failure = Mock(side_effect=NotSynthesised("stages/dev.yaml:4: no model"))
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(Checkout, "synthesise", failure)
    monkeypatch.setattr(cdk, "run", lambda *_, **__: pytest.fail("deployed"))
    finished = run_main(main, "deploy", "dev", code=1)
    assert finished.stderr == "error: stages/dev.yaml:4: no model\n"


def test_local_stage_is_not_deployed_to_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(deploy, "run_cdk", lambda *_, **__: pytest.fail("deployed"))
    with pytest.raises(CommandError, match="add --local"):
        deploy.run(argparse.Namespace(stage="local", local=False))


@pytest.mark.parametrize(("missing", "is_built"), [(0, False), (50, False), (51, True)])
def test_many_missing_archives_are_built_before_cloudformation(
    missing: int, is_built: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = [f"model-{number}" for number in range(60)]
    plan = make_plan(endpoints={
        "text": make_endpoint(models={name: make_model(name) for name in names})
    })  # fmt: skip
    plan.write(tmp_path)
    bucket = Mock(incomplete=lambda keys: keys[:missing])
    monkeypatch.setattr(StageDeployment, "bucket_of", lambda *_: bucket)
    builds: list[StageDeployment] = []
    restored_plans: list[Plan] = []
    monkeypatch.setattr(deploy, "build_missing_archives", builds.append)
    monkeypatch.setattr(deploy, "run_cdk", lambda *_, **__: None)
    monkeypatch.setattr(deploy, "restore_entries", lambda _, plan, *__: restored_plans.append(plan))
    deploy._deploy(StageDeployment(Assembly(tmp_path, plan.stage), Mock()), None)
    assert bool(builds) is is_built
    assert restored_plans == [plan]


@pytest.mark.parametrize(
    ("command", "local", "environment"),
    [
        ("deploy", False, {}),
        ("deploy", True, WITHOUT_VALIDATION),
        ("destroy", False, WITHOUT_VALIDATION),
    ],
)
def test_templates_are_validated_only_by_a_deploy_to_aws(
    monkeypatch: pytest.MonkeyPatch, command: str, local: bool, environment: dict[str, str]
) -> None:
    environments: list[object] = []

    def run(*_: str, **options: object) -> cdk.CdkResult:
        environments.append(options["environment"])
        return cdk.CdkResult(succeeded=True, error_lines=())

    monkeypatch.setattr(cdk, "run", run)
    deploy.run_cdk(command, "dev", local=Folder.default() if local else None)
    assert environments == [environment]
