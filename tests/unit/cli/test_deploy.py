"""Tests of `tritonsm deploy` without the cdk CLI."""

import argparse
import re
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
from plan.catalog import Catalog
from plan.document import Plan
from release.checkout import WITHOUT_VALIDATION, Checkout, NotSynthesised
from stages import at_lines_of_stage, load_stage
from tests.catalog_items import create_table, memory_dynamodb, write_entry
from tests.processes import run_main
from tests.unit.model_build.fakes import FakeSts
from tests.unit.plan.plans import make_endpoint, make_model, make_plan
from tests.unit.test_repository import ROOT


def test_invalid_stage_is_reported_before_any_change(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "wrong.yaml").write_text(
        "region: us-east-1\nrelease: '25.09'\nendpoints:\n"
        "  text: { models: [minilmm], instance_type: ml.m5.xlarge }\n"
    )
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(load_stage, "__defaults__", (tmp_path,))
    monkeypatch.setattr(at_lines_of_stage, "__defaults__", (tmp_path,))
    monkeypatch.setattr(cdk, "run_directly", lambda *_, **__: pytest.fail("compared"))
    error = run_main(main, "diff", "wrong", code=1).stderr
    assert re.match(
        r"error: .*wrong\.yaml:4: endpoints\.text\.models\.0: no model 'minilmm'", error
    )


def write_assembly(monkeypatch: pytest.MonkeyPatch, plan: Plan) -> None:
    """Let the app write a plan only."""

    def synthesise(_: Checkout, stage: str, *, to: Path, validate: bool) -> None:
        assert (stage, validate) == (plan.stage, False)
        plan.write(to)

    monkeypatch.setattr(Checkout, "synthesise", synthesise)


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


def test_deleted_catalog_entry_is_restored(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    dynamodb, sts = memory_dynamodb(), FakeSts()
    create_table(dynamodb, "local")
    catalog = Catalog(dynamodb, "local", "text")
    plan = make_plan(
        stage="local", endpoints={"text": make_endpoint(models={"m": make_model("m")})}
    )
    monkeypatch.chdir(ROOT)
    session = Mock(client=lambda service: sts if service == "sts" else dynamodb)
    monkeypatch.setattr("boto3.Session", lambda **_: session)
    write_assembly(monkeypatch, plan)
    monkeypatch.setattr(deploy, "bootstrap", lambda *_: None)
    monkeypatch.setattr(deploy, "run_cdk", lambda *_, **__: None)
    local = argparse.Namespace(stage="local", local=True)
    assert deploy.run(local) == 0
    assert "! text/m: the catalog has no entry: restored" in capsys.readouterr().out
    revision = catalog.current()["m"]
    write_entry(catalog, {**revision.entry, "version": "published"}, cause="published")
    assert deploy.run(local) == 0
    assert catalog.current()["m"].version == "published"
    assert capsys.readouterr().out == "deployed: local\n"


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
    monkeypatch.setattr(deploy, "build_missing_archives", builds.append)
    monkeypatch.setattr(deploy, "run_cdk", lambda *_, **__: None)
    monkeypatch.setattr(deploy, "restore_entries", lambda *_: [])
    deploy._deploy(StageDeployment(Assembly(tmp_path, plan.stage), Mock()), None)
    assert bool(builds) is is_built


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
