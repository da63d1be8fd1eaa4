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
from delivery.deploy import StageDeployment
from local_sagemaker import Folder
from plan.catalog import Catalog
from release.checkout import WITHOUT_VALIDATION
from stages import at_lines_of_stage, load_stage
from tests.catalog_items import create_table, memory_dynamodb, write_entry
from tests.unit.model_build.fakes import FakeSts
from tests.unit.plan.plans import make_endpoint, make_model, make_plan
from tests.unit.test_repository import ROOT


@pytest.mark.parametrize("command", ["deploy", "diff"])
def test_invalid_stage_is_reported_before_any_change(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    (tmp_path / "wrong.yaml").write_text(
        "region: us-east-1\nrelease: '25.09'\nendpoints:\n"
        "  text: { models: [minilmm], instance_type: ml.m5.xlarge }\n"
    )
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(load_stage, "__defaults__", (tmp_path,))
    monkeypatch.setattr(at_lines_of_stage, "__defaults__", (tmp_path,))
    monkeypatch.setattr(cdk, "run", lambda *_, **__: pytest.fail("deployed"))
    monkeypatch.setattr(cdk, "run_directly", lambda *_, **__: pytest.fail("compared"))
    assert main([command, "wrong"]) == 1
    error = capsys.readouterr().err
    assert re.match(
        r"error: .*wrong\.yaml:4: endpoints\.text\.models\.0: no model 'minilmm'", error
    )


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
    monkeypatch.chdir(ROOT)
    session = Mock(client=lambda service: sts if service == "sts" else dynamodb)
    monkeypatch.setattr("boto3.Session", lambda **_: session)
    monkeypatch.setattr(deploy, "bootstrap", lambda *_: None)
    monkeypatch.setattr(deploy, "run_cdk", lambda *_, **__: None)
    local = argparse.Namespace(stage="local", local=True)
    assert deploy.run(local) == 0
    assert capsys.readouterr().out.endswith("restored catalog entries: text/minilm\n")
    revision = catalog.current()["minilm"]
    assert revision.entry["endpoint"] == "local-text"
    write_entry(catalog, {**revision.entry, "version": "published"}, cause="published")
    assert deploy.run(local) == 0
    assert catalog.current()["minilm"].version == "published"
    assert capsys.readouterr().out == "deployed: local\n"


@pytest.mark.parametrize(("missing", "is_built"), [(0, False), (50, False), (51, True)])
def test_many_missing_archives_are_built_before_cloudformation(
    missing: int, is_built: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = [f"model-{number}" for number in range(60)]
    plan = Mock(document=make_plan(endpoints={
        "text": make_endpoint(models={name: make_model(name) for name in names})
    }))  # fmt: skip
    commands: list[tuple[str, ...]] = []
    bucket = Mock(incomplete=lambda keys: keys[:missing])
    monkeypatch.setattr(StageDeployment, "bucket_of", lambda *_: bucket)
    monkeypatch.setattr(deploy, "run_cdk", lambda *command, **_: commands.append(command))
    monkeypatch.setattr(
        deploy,
        "build_missing_archives",
        lambda deployment: commands.append(("build", str(deployment.assembly.folder))),
    )
    folder = str(tmp_path / "cdk.out")
    app = deploy._build_many_archives(plan, Mock(root=tmp_path))
    assert app == (("--app", folder) if is_built else ())
    assert [command[0] for command in commands] == (["synth", "build"] if is_built else [])


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
