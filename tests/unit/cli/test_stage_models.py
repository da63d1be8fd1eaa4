"""Tests of `publish`, `rollback` and `retire` as commands of a stage."""

import argparse
from pathlib import Path

import boto3
import pytest

from cli import stage_models
from model_build import BuildError
from model_build.source import ModelFolder
from stages import load_stage
from tests.processes import run_main
from tests.tritonsm import tritonsm
from tests.unit.test_repository import ROOT


@pytest.fixture(autouse=True)
def _default_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-south-1")


@pytest.mark.parametrize(
    "arguments",
    [
        ["publish", "prod", "text", "models/minilm"],
        ["rollback", "prod", "text", "minilm"],
        ["retire", "prod", "text", "minilm", "0" * 12],
    ],
)
def test_command_uses_the_region_of_the_stage(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    regions = []

    def client(service: str) -> None:
        assert boto3.DEFAULT_SESSION
        regions.append(boto3.DEFAULT_SESSION.region_name)
        raise BuildError

    monkeypatch.setattr(boto3, "client", client)
    finished = run_main(tritonsm, *arguments, code=1)
    assert regions == [load_stage("prod").region]
    assert "error:" in finished.stderr


def test_unknown_stage_is_an_error() -> None:
    finished = run_main(tritonsm, "rollback", "prd", "text", "minilm", code=1)
    assert "no stage 'prd': did you mean prod?" in finished.stderr


@pytest.mark.parametrize(
    ("model", "endpoint", "is_warned"),
    [("minilm", "text", False), ("bert", "text", True), ("minilm", "other", True)],
)
def test_publishing_a_model_that_the_stage_lacks_is_a_warning(
    capsys: pytest.CaptureFixture[str], model: str, endpoint: str, is_warned: bool
) -> None:
    source = ModelFolder(Path("models", model)).model()
    options = argparse.Namespace(stage="local", endpoint=endpoint, models=[[source]])
    assert stage_models.run_publish(lambda: 0, options) == 0
    warning = f"! endpoints.{endpoint}.models of stages/local.yaml does not have {model}: "
    assert capsys.readouterr().err.startswith(warning) == is_warned
