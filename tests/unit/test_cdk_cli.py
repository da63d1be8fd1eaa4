"""How the cdk CLI is run and what is seen of it, with a stand-in for it."""

import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

import cdk_cli

STAND_IN = f"""#!{sys.executable}
import json, os, pathlib, signal, sys, time
here = pathlib.Path(__file__).parent
signal.signal(signal.SIGTERM, lambda *_: ((here / "ended").touch(), sys.exit(1)))
(here / "started").write_text(json.dumps([sys.argv[1:], os.environ.get("STAGE"), os.getcwd()]))
print((here / "says").read_text(), flush=True)
while (here / "goes on").exists():
    time.sleep(0.01)
sys.exit((here / "fails").exists())
"""
DEPLOYS = """
✨  Synthesis time: 10.79s

dev-text: start: Building minilm-source
dev-text: success: Built minilm-source
dev-text
dev-text: creating CloudFormation changeset...
dev-text: deploying... [2/2]
dev-text |  0/12 | 7:07:56 AM | UPDATE_IN_PROGRESS      | AWS::CloudFormation::Stack     | dev-text
dev-text |  0/12 | 7:07:56 AM | UPDATE_IN_PROGRESS      | Custom::TritonModel            | \
minilm-cpu/Resource/Default (minilmcpu9290E86F)
dev-text |  1/12 | 7:07:56 AM | UPDATE_COMPLETE         | AWS::IAM::Role                 | \
Endpoint/Role/Role (EndpointRoleB9AA434A)
dev-text |  1/12 | 7:07:56 AM | UPDATE_IN_PROGRESS      | AWS::IAM::Role                 | \
Endpoint/Role/Role (EndpointRoleB9AA434A)
"""
BACK = """\
dev-text |  1/12 | 7:08:11 AM | UPDATE_ROLLBACK_IN_PROGRESS | AWS::CloudFormation::Stack | \
dev-text Rollback requested by user
dev-text |  1/12 | 7:08:11 AM | UPDATE_IN_PROGRESS      | AWS::IAM::Role                 | \
Endpoint/Role/Role (EndpointRoleB9AA434A)
"""
FAILS = """\
dev-text |  1/12 | 7:08:11 AM | UPDATE_FAILED           | AWS::SSM::Parameter            | \
Catalog/minilm (Catalogminilm925A0626) Resource update cancelled
dev-text |  1/12 | 7:08:11 AM | UPDATE_FAILED           | Custom::TritonModel            | \
minilm-cpu/Resource/Default (minilmcpu9290E86F) Received response status [FAILED] from custom \
resource. Message returned: Error: Build of minilm failed: no weights

Logs: /aws/lambda/dev-models-BuilderPoll688571AC

    at invokeUserFunction (/var/task/framework.js:2:6)
    at async isComplete (/var/task/framework.js:1:2631)

Failed resources:
dev-text | 7:08:11 AM | UPDATE_FAILED           | Custom::TritonModel            | \
minilm-cpu/Resource/Default (minilmcpu9290E86F) Received response status [FAILED] from custom \
resource. Message returned: Error: Build of minilm failed: no weights
    at invokeUserFunction (/var/task/framework.js:2:6)
❌  dev-text failed to deploy
‣ DeploymentError: Resource updates failed:
    at
  invokeUserFunction
"""


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a CLI that `says` what it is given."""
    path = tmp_path / "cdk"
    path.write_text(STAND_IN)
    path.chmod(0o755)
    (tmp_path / "says").touch()
    monkeypatch.setattr(cdk_cli, "CLI", path)
    return tmp_path


def test_a_run_has_its_arguments_environment_folder_and_log(cli: Path) -> None:
    (cli / "says").write_text(DEPLOYS)
    folder = cli / "elsewhere"
    folder.mkdir()
    log = cli / "log"
    run = cdk_cli.run(
        *("deploy", "--all"), title="t", environment={"STAGE": "dev"}, cwd=folder, log=log
    )
    assert run == cdk_cli.Result(succeeded=True, reasons=())
    assert json.loads((cli / "started").read_text()) == [["deploy", "--all"], "dev", str(folder)]
    assert log.read_text() == f"{DEPLOYS}\n"


def test_elsewhere_than_on_a_terminal_each_event_is_a_line(
    cli: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (cli / "says").write_text(DEPLOYS + "1/12 Currently in progress: minilmcpu9290E86F\n")
    cdk_cli.run("deploy", title="t")
    assert capsys.readouterr().out.splitlines() == [
        "  dev-text 0/12 UPDATE_IN_PROGRESS dev-text",
        "  dev-text 0/12 UPDATE_IN_PROGRESS minilm-cpu",
        "  dev-text 1/12 UPDATE_COMPLETE Endpoint/Role/Role",  # its beginning is no news then
        "  1/12 Currently in progress: minilmcpu9290E86F",
    ]


def test_a_failure_is_told_once_in_the_words_of_cloudformation(
    cli: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (cli / "fails").touch()
    (cli / "says").write_text(DEPLOYS + FAILS)
    run = cdk_cli.run("deploy", title="t")
    reason = "Build of minilm failed: no weights"
    assert run == cdk_cli.Result(succeeded=False, reasons=(f"dev-text, minilm-cpu: {reason}",))
    assert capsys.readouterr().out.splitlines()[3:] == [
        "  dev-text 1/12 UPDATE_FAILED Catalog/minilm",
        f"  dev-text 1/12 UPDATE_FAILED minilm-cpu: {reason}",
    ]


def test_what_fails_before_there_are_events_is_told_as_the_cli_said_it(cli: Path) -> None:
    (cli / "fails").touch()
    (cli / "says").write_text(
        "error: stages/dev.yaml:6: endpoints.text.models.0: no model 'mimilm'\n"
        "python3 app.py: Subprocess exited with error 1\n"
    )
    assert cdk_cli.run("deploy", title="t").reasons == (
        "error: stages/dev.yaml:6: endpoints.text.models.0: no model 'mimilm'",
    )


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("Invalid request (RequestId: a-1)", "Invalid request"),
        (
            "Received response status [FAILED] from custom resource. Message returned: Error: no"
            "\n\nLogs: /aws/lambda/f\n\n    at f (/var/task/framework.js:2:6)\n (RequestId: a-1)",
            "no",
        ),
        ("It is in a state\n that ends", "It is in a state that ends"),
        ("", ""),
    ],
)
def test_of_a_reason_the_sentence_is_useful(reason: str, said: str) -> None:
    assert cdk_cli.useful(reason) == said


def test_a_terminal_sees_a_row_for_each_stack_and_what_is_in_progress(
    cli: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = drawn(monkeypatch, DEPLOYS, building="exporting encoder")
    assert re.search(r"… cdk deploy \(\d+ s\)", text)
    assert re.search(r"dev-text +1/12 +minilm-cpu \(\d+ s\)", text)
    assert "exporting encoder" in text
    assert "Endpoint/Role" not in text


def test_a_terminal_sees_that_a_stack_is_rolled_back(
    cli: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    back = DEPLOYS + BACK
    said = r"rolling back: minilm-cpu \(\d+ s\), Endpoint/Role/Role \(\d+ s\)"
    assert re.search(said, drawn(monkeypatch, back))
    done = back + BACK.replace("ROLLBACK_IN_PROGRESS", "ROLLBACK_COMPLETE")
    assert re.search(r"dev-text +1/12 +update rollback complete", drawn(monkeypatch, done))


def drawn(monkeypatch: pytest.MonkeyPatch, says: str, building: str = "") -> str:
    """Return what a terminal of 80 columns has seen of a run."""
    (cdk_cli.CLI.parent / "says").write_text(says)
    seen = io.StringIO()
    monkeypatch.setattr(
        cdk_cli,
        "Console",
        lambda **_: Console(file=seen, force_terminal=True, color_system=None, width=80),
    )
    cdk_cli.run("deploy", title="cdk deploy", building=lambda: building)
    return seen.getvalue()


def test_an_interrupted_run_ends_the_cli_which_begins_no_other_stack(
    cli: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cli / "goes on").touch()

    class Interrupted(cdk_cli._Told):
        def read(self, _: str) -> str:
            raise KeyboardInterrupt

    monkeypatch.setattr(cdk_cli, "_Told", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        cdk_cli.run("deploy", title="t")
    (cli / "goes on").unlink()
    assert (cli / "ended").exists()


def test_a_run_in_its_own_words_has_its_exit_code(
    cli: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (cli / "says").write_text("as it likes")
    (cli / "fails").touch()
    assert cdk_cli.run_in_its_words("diff", "-c", "stage=dev") == 1
    assert capfd.readouterr().out == "as it likes\n"
    assert json.loads((cli / "started").read_text())[0] == ["diff", "-c", "stage=dev"]


def test_an_interruption_ends_it_in_a_process_group_that_ctrl_c_does_not_reach(
    cli: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cli / "goes on").touch()
    wait = subprocess.Popen.wait

    def interrupted(self: "subprocess.Popen[bytes]") -> int:
        monkeypatch.setattr(subprocess.Popen, "wait", wait)
        assert os.getpgid(self.pid) == self.pid
        while not (cli / "started").exists():
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cdk_cli.run_in_its_words("diff")
    assert (cli / "ended").exists()


def test_a_cli_that_is_not_there_cannot_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cdk_cli, "CLI", tmp_path / "cdk")
    with pytest.raises(FileNotFoundError):
        cdk_cli.run("deploy", title="t")
