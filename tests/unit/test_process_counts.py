"""Number of processes that a build and a deploy start."""

import argparse
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cli import deploy
from delivery import cdk
from local_sagemaker import Folder
from tests.catalog_items import create_table, memory_dynamodb
from tests.unit.model_build.fakes import FakeCloudFormation, FakeSts
from tests.unit.test_repository import ROOT


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


def test_deploy_runs_the_cdk_cli_once_after_bootstrap(
    tmp_path: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = tmp_path / "cdk"
    cli.write_text("#!/bin/sh\n")
    cli.chmod(0o755)
    dynamodb = memory_dynamodb()
    create_table(dynamodb, "local")
    cloudformation = FakeCloudFormation()
    clients = {"dynamodb": dynamodb, "cloudformation": cloudformation, "sts": FakeSts()}
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(cdk, "CLI", cli)
    monkeypatch.setattr(Folder, "default", lambda: Folder(tmp_path))
    monkeypatch.setattr("boto3.client", lambda service, *_: clients[service])
    monkeypatch.setattr("boto3.Session.client", lambda _, service: clients[service])
    assert deploy.run(argparse.Namespace(stage="local", local=True)) == 0
    assert len([command for command in commands if "app.py" in command]) == 1
    cloudformation.stacks = {"CDKToolkit": "CREATE_COMPLETE"}
    deploy.bootstrap("us-east-1", Folder(tmp_path))
    cdk_commands = [command[1] for command in commands if command[0] == str(cli)]
    assert cdk_commands == ["bootstrap", "deploy"]
