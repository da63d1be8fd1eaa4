"""Runs of the CDK CLI and their output, with a stand-in for the CLI."""

import io
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from rich.console import Console

from delivery import cdk

FAKE_CLI = f"""#!{sys.executable}
import json, os, pathlib, signal, sys, time
folder = pathlib.Path(__file__).parent
signal.signal(signal.SIGTERM, lambda *_: ((folder / "ended").touch(), sys.exit(1)))
(folder / "started").write_text(json.dumps([sys.argv[1:], os.environ.get("CI"), os.getcwd()]))
print((folder / "output").read_text(), flush=True)
print((folder / "errors").read_text(), file=sys.stderr, flush=True)
while (folder / "keep running").exists():
    time.sleep(0.01)
sys.exit((folder / "fails").exists())
"""
DEPLOYMENT = """
✨  Synthesis time: 10.79s

dev-text: deploying... [2/2]
dev-text |  0/12 | 7:07:56 AM | UPDATE_IN_PROGRESS      | Custom::TritonModels            | \
minilm-cpu/Resource/Default (minilmcpu9290E86F)
dev-text |  1/12 | 7:07:56 AM | UPDATE_COMPLETE         | AWS::IAM::Role                 | \
Endpoint/Role/Role (EndpointRoleB9AA434A)
dev-math |  3/4 | 7:07:57 AM | CREATE_COMPLETE | AWS::IAM::Role | Endpoint/Role (EndpointRoleB9AA)
"""
DIAGNOSIS = """\
❌  dev-text failed to deploy
‣ DeploymentError: Resource updates failed:
dev-text/minilm-cpu/Resource/Default  (Custom::TritonModels minilmcpu9290E86F)
  Build of minilm failed: no weights

    at invokeUserFunction (/var/task/framework.js:2:6)
    at async isComplete (/var/task/framework.js:1:2631)
Source Location: ...jsii runtime, node internals...
                 (no user code in 10 frames, use --stack-trace-limit to capture more)
"""
"""The stderr of a failed deploy with aws-cdk 2.1148.1 (formatResourceErrorBlock, lib/index.js)."""


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a stand-in CLI that prints the files `output` and `errors`."""
    path = tmp_path / "cdk"
    path.write_text(FAKE_CLI)
    path.chmod(0o755)
    (tmp_path / "output").touch()
    (tmp_path / "errors").touch()
    monkeypatch.setattr(cdk, "CLI", path)
    return tmp_path


def test_failure_has_error_lines_without_stack_traces(
    cli: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (cli / "fails").touch()
    (cli / "errors").write_text(DIAGNOSIS)
    result = cdk.run("deploy", title="t")
    assert result == cdk.CdkResult(succeeded=False, error_lines=tuple(DIAGNOSIS.splitlines()[:4]))
    assert capsys.readouterr().out == ""


def test_failed_synth_has_the_error_of_the_app(cli: Path) -> None:
    (cli / "fails").touch()
    error = "error: stages/dev.yaml:6: endpoints.text.models.0: no model 'mimilm'"
    (cli / "errors").write_text(f"{error}\npython3 app.py: Subprocess exited with error 1\n")
    assert cdk.run("deploy", title="t").error_lines == (error,)


def test_interrupted_run_terminates_the_cli(cli: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cli / "keep running").touch()

    @contextmanager
    def interrupted(*_: Any) -> Iterator[Any]:
        yield Mock(side_effect=KeyboardInterrupt)

    monkeypatch.setattr(cdk, "_progress_display", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cdk.run("deploy", title="t")
    (cli / "keep running").unlink()
    assert (cli / "ended").exists()


def test_direct_run_returns_output_and_exit_code(
    cli: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (cli / "output").write_text("output of the CLI")
    (cli / "fails").touch()
    assert cdk.run_directly("diff", "-c", "stage=dev") == 1
    assert capfd.readouterr().out == "output of the CLI\n"
    assert json.loads((cli / "started").read_text())[0] == ["diff", "-c", "stage=dev"]


def test_interrupted_direct_run_terminates_its_process_group(
    cli: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cli / "keep running").touch()
    wait = subprocess.Popen.wait

    def interrupted(self: "subprocess.Popen[bytes]") -> int:
        monkeypatch.setattr(subprocess.Popen, "wait", wait)
        assert os.getpgid(self.pid) == self.pid
        while not (cli / "started").exists():
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cdk.run_directly("diff")
    assert (cli / "ended").exists()


def test_terminal_shows_newest_line_per_stack_and_build(
    cli: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = terminal_output(monkeypatch, DEPLOYMENT)
    assert re.search(r"… cdk deploy \(\d+ s\)", text)
    last_frame = text.rpartition("… cdk deploy")[2]
    assert "dev-text | 1/12 | 7:07:56 AM | UPDATE_COMPLETE | AWS::IAM::Role" in last_frame
    assert "dev-math | 3/4 |" in last_frame
    assert "exporting encoder" in last_frame
    assert "minilm-cpu" not in last_frame


def terminal_output(monkeypatch: pytest.MonkeyPatch, output: str) -> str:
    """Return the terminal output of a run."""
    (cdk.CLI.parent / "output").write_text(output)
    terminal = io.StringIO()
    console = Console(file=terminal, force_terminal=True, color_system=None, width=200)
    monkeypatch.setattr(cdk, "Console", lambda **_: console)
    cdk.run("deploy", title="cdk deploy", build_status=lambda: "exporting encoder")
    return terminal.getvalue()
