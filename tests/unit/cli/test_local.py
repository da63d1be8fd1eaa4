"""What a command does whose local SageMaker ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import cdk_cli
import local_sagemaker
from cli import local_option
from local_sagemaker import Folder, RunningSageMaker
from local_sagemaker.tests.support.waiting import eventually

UNTIL_KILLED = "import signal; signal.pause()"
# As Node.js from PyPI: a program that starts another one, which goes on without it.
CDK = f"""#!{sys.executable}
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
def server() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that stands in for the local SageMaker."""
    with subprocess.Popen([sys.executable, "-c", UNTIL_KILLED]) as process:
        yield process
        process.kill()


@pytest.fixture
def running(
    server: "subprocess.Popen[bytes]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> RunningSageMaker:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "os.environ", dict(os.environ)
    )  # a command points it at the local SageMaker
    folder, made = Folder.default(), RunningSageMaker(pid=server.pid, port=4566, python="3.10")
    folder.root.mkdir()
    folder.remember(made)
    return made


def test_a_command_that_waits_for_the_cdk_cli_ends_soon_after_the_local_sagemaker(
    running: RunningSageMaker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cdk = tmp_path / "cdk"
    cdk.write_text(CDK)
    cdk.chmod(0o755)
    monkeypatch.setattr(cdk_cli, "CLI", cdk)
    # Not earlier: Python leaves a process behind where an interruption comes while it starts one.
    monkeypatch.setattr(
        cdk_cli, "print", lambda *_, **__: os.kill(running.pid, signal.SIGKILL), raising=False
    )
    assert local_option.run(lambda: cdk_cli.run("deploy", title="cdk deploy").succeeded) == 1
    eventually((tmp_path / "ended").exists)
    assert capsys.readouterr().err == (
        f"error: the local SageMaker has ended: read {Folder.default().log}; `up` "
        "starts a new one, with nothing deployed\n"
    )


def test_a_command_that_talks_itself_out_of_an_interruption_fails_too(
    running: RunningSageMaker,
) -> None:
    def command() -> int:
        os.kill(running.pid, signal.SIGKILL)
        with suppress(KeyboardInterrupt):
            signal.pause()
        return 0

    assert local_option.run(command) == 1


@pytest.mark.parametrize("command", ["deliver", "rollback-stage", "publish"])
def test_a_command_on_aws_runs_nothing_of_the_local_sagemaker(command: str) -> None:
    # Its code has no owner who must approve it, and such commands have credentials.
    program = (
        "import sys; from cli.dispatch import read\n"
        "try: read([sys.argv[1], '--help'])\n"
        "except SystemExit: sys.exit('local_sagemaker' in sys.modules)"
    )
    arguments = [sys.executable, "-c", program, command]
    root = Path(__file__).parents[3]
    assert subprocess.run(arguments, cwd=root, capture_output=True, check=False).returncode == 0


def test_a_command_whose_local_sagemaker_stays_up_ends_as_it_likes(
    running: RunningSageMaker,
) -> None:
    with local_sagemaker.while_running(Folder.default(), running):
        pass
    with (
        pytest.raises(KeyboardInterrupt),
        local_sagemaker.while_running(Folder.default(), running),
    ):
        raise KeyboardInterrupt
