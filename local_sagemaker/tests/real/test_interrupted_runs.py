"""An ended pytest run leaves no process, however it ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from local_sagemaker.tests.support.waiting import eventually, runs

ROOT = Path(__file__).parents[3]
TEST = '''\
import io, zipfile
from pathlib import Path

import boto3
import pytest
from local_sagemaker.tests.support.endpoints import create_endpoint, multi_model
from local_sagemaker.tests.support.running import local_sagemaker_in
from local_sagemaker.tests.support.waiting import eventually

FUNCTION = """
import pathlib, signal

def handler(event, context):
    pathlib.Path(event["ready"]).touch()
    signal.pause()
"""


def test_that_is_interrupted(tmp_path):
    with local_sagemaker_in(tmp_path / "aws"):
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="models")
        s3.put_object(Bucket="models", Key="model.tar.gz", Body=b"")
        create_endpoint("idle", multi_model("s3://models/"))
        code = io.BytesIO()
        with zipfile.ZipFile(code, "w") as archive:
            archive.writestr("index.py", FUNCTION)
        functions = boto3.client("lambda")
        functions.create_function(
            FunctionName="waits", Runtime="python3.11", Handler="index.handler",
            Role="arn:aws:iam::000000000000:role/waits", Code={"ZipFile": code.getvalue()},
        )
        ready = Path.cwd() / "function"
        functions.invoke(
            FunctionName="waits", InvocationType="Event", Payload='{"ready": "%s"}' % ready
        )
        eventually(ready.exists)
        (Path.cwd() / "ready").touch()
        eventually(lambda: False)
'''


def descendants(pid: int) -> set[int]:
    """Return the ids of a process's children, of their children, and so on."""
    parents = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            stat = (process / "stat").read_text()
        except OSError:  # it has ended
            continue
        parents[int(process.name)] = int(stat.rpartition(")")[2].split()[1])
    result = {pid}
    while new := {child for child, parent in parents.items() if parent in result} - result:
        result |= new
    return result


def none_runs(pids: set[int]) -> bool:
    return not any(map(runs, pids))


class Run:
    """A run of one test, which uses a local SageMaker, in an xdist worker."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "test_interrupted.py").write_text(TEST)
        (folder / "pytest.ini").touch()
        self._folder = folder
        with (folder / "output").open("wb") as output:
            self.controller = subprocess.Popen(
                [sys.executable, "-m", "pytest", "-n1", "--basetemp", "temporary"],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=output,
                stderr=output,
                process_group=0,  # as a shell does
            )

    def wait_until_ready(self) -> None:
        eventually(lambda: self.controller.poll() or (self._folder / "ready").exists())
        assert self.controller.poll() is None, (self._folder / "output").read_text()

    @property
    def worker(self) -> int:
        children = Path(f"/proc/{self.controller.pid}/task/{self.controller.pid}/children")
        return int(children.read_text().split()[0])


@pytest.fixture
def started(tmp_path: Path) -> Iterator[dict[str, Run]]:
    with ExitStack() as stack:
        result = {}
        for name in ("Ctrl-C", "killed", "worker killed"):
            run = result[name] = Run(tmp_path / name)
            stack.callback(run.controller.wait)
            stack.callback(run.controller.kill)
        for run in result.values():
            run.wait_until_ready()
        yield result


def test_ended_runs_leave_no_process(started: dict[str, Run]) -> None:
    processes = {name: descendants(run.controller.pid) for name, run in started.items()}
    for pids in processes.values():
        programs = {Path(f"/proc/{pid}/exe").readlink().name for pid in pids}
        assert "tritonserver" in programs, programs
        assert len(pids) >= 7  # controller, worker, server, ministack, function, unshare, broker
    os.killpg(started["Ctrl-C"].controller.pid, signal.SIGINT)
    started["killed"].controller.kill()
    os.kill(started["worker killed"].worker, signal.SIGKILL)
    started["worker killed"].controller.send_signal(signal.SIGINT)  # or it starts another worker
    for name, pids in processes.items():
        started[name].controller.wait()
        eventually(partial(none_runs, pids))
