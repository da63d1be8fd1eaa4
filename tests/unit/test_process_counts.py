"""Number of processes that a build and a deploy start."""

import argparse
import subprocess
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cli import deploy
from delivery import cdk
from local_sagemaker import Folder
from model_build.__main__ import main
from tests.catalog_items import create_table, memory_dynamodb
from tests.unit.model_build.commands.conftest import NO_LOAD
from tests.unit.model_build.fakes import FakeSts
from tests.unit.test_repository import ROOT

CONFIG = 'backend: "python"\nmax_batch_size: 8\n' + "".join(
    f'{kind} [ {{ name: "{name}" data_type: TYPE_FP32 dims: [ 1 ] }} ]\n'
    for kind, name in (("input", "X"), ("output", "Y"))
)
MODEL = "class TritonPythonModel:\n    def execute(self, requests):\n        return []\n"


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the list of command lines of commands processes."""
    commands: list[list[str]] = []
    start = subprocess.Popen.__init__

    def count(self: Any, arguments: list[str], *positional: Any, **options: Any) -> None:
        commands.append(arguments)
        start(self, arguments, *positional, **options)

    monkeypatch.setattr(subprocess.Popen, "__init__", count)
    return commands


def test_build_without_export_starts_no_process(tmp_path: Path, commands: list[list[str]]) -> None:
    model = tmp_path / "double"
    (model / "double" / "1").mkdir(parents=True)
    (model / "double" / "config.pbtxt").write_text(CONFIG)
    (model / "double" / "1" / "model.py").write_text(MODEL)
    to = str(tmp_path / "out")
    assert main(["build", str(model), "--target", "cpu-24.09", "--output", to, *NO_LOAD]) == 0
    assert commands == []


class CloudFormation:
    """A fake of an account with or without the CDK bootstrap stack."""

    def __init__(self, *, bootstrapped: bool) -> None:
        self._bootstrapped = bootstrapped

    def describe_stacks(self, **_: str) -> None:
        """Raise the error of CloudFormation for a missing stack."""
        if not self._bootstrapped:
            raise ClientError({"Error": {"Code": "ValidationError"}}, "DescribeStacks")


@pytest.mark.parametrize("bootstrapped", [True, False])
def test_deploy_runs_the_cdk_cli_once_after_bootstrap(
    tmp_path: Path,
    commands: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    *,
    bootstrapped: bool,
) -> None:
    cli = tmp_path / "cdk"
    cli.write_text("#!/bin/sh\n")
    cli.chmod(0o755)
    dynamodb = memory_dynamodb()
    create_table(dynamodb, "local")
    cloudformation = CloudFormation(bootstrapped=bootstrapped)
    clients = {"dynamodb": dynamodb, "cloudformation": cloudformation, "sts": FakeSts()}
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(cdk, "CLI", cli)
    monkeypatch.setattr(Folder, "default", lambda: Folder(tmp_path))
    monkeypatch.setattr("boto3.client", lambda service, *_: clients[service])
    monkeypatch.setattr("boto3.Session.client", lambda _, service: clients[service])
    assert deploy.run(argparse.Namespace(stage="local", local=True)) == 0
    cdk_commands = [command[1] for command in commands if command[0] == str(cli)]
    assert cdk_commands == ["bootstrap"] * (not bootstrapped) + ["deploy"]
    assert len([command for command in commands if "app.py" in command]) == 1
