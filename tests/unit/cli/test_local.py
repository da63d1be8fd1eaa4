"""Tests of `--local` if the local SageMaker ends during a command."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import local_sagemaker
from cli import local_option
from delivery import cdk
from local_sagemaker import Folder, RunningSageMaker
from local_sagemaker.tests.support.running import server_process
from local_sagemaker.tests.support.waiting import eventually
from tests.unit.cli.conftest import run_python

IMPORT_COMMANDS = """\
import importlib, sys
from cli.commands import COMMANDS
for command in COMMANDS.values():
    if command.calls_aws:
        importlib.import_module(command.module)
print([module for module in sys.modules if module.partition(".")[0] == "local_sagemaker"])
"""
# Like Node.js from PyPI, this program starts a child process that does not end with it.
FAKE_CDK = f"""#!{sys.executable}
import os, pathlib, signal, sys
def end(*_):
    pathlib.Path(__file__).with_name("ended").touch()
    sys.exit(1)
if os.fork():
    os.wait()
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
while True:
    signal.pause()
"""


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningSageMaker]:
    """A process that replaces the local SageMaker."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.environ", dict(os.environ))  # the command changes it
    folder = Folder.default()
    folder.root.mkdir()
    with server_process(folder, 4566) as process:
        running = RunningSageMaker(pid=process.pid, port=4566, python="3.10")
        folder.write_running(running)
        yield running


def test_cdk_cli_ends_with_the_local_sagemaker(
    running: RunningSageMaker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    program = tmp_path / "cdk"
    program.write_text(FAKE_CDK)
    program.chmod(0o755)
    monkeypatch.setattr(cdk, "CLI", program)
    # On output, because an interrupt during the start of a process would leave the process running.
    monkeypatch.setattr(
        cdk, "print", lambda *_, **__: os.kill(running.pid, signal.SIGKILL), raising=False
    )
    assert local_option.run(lambda: cdk.run("deploy", title="cdk deploy").succeeded) == 1
    eventually((tmp_path / "ended").exists)
    assert capsys.readouterr().err.startswith("error: the local SageMaker has ended: read the")


def test_commands_on_aws_do_not_import_local_sagemaker() -> None:
    """They have credentials, and no code owner reviews the package."""
    finished = run_python("-c", IMPORT_COMMANDS)
    assert (finished.returncode, finished.stdout) == (0, "[]\n"), finished.stderr
    assert local_option.ACCOUNT == local_sagemaker.ACCOUNT
