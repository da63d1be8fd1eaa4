"""A local SageMaker that runs inside a with block."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import boto3
import pytest

from local_sagemaker import lifecycle
from local_sagemaker.environment import client_environment
from local_sagemaker.folder import Folder, RunningSageMaker


@contextmanager
def server_process(folder: Folder, port: int) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a process that `folder.running()` takes for the server; it is killed afterwards."""
    wait = "import signal, sys; print('ready', flush=True); signal.pause()"
    command = [sys.executable, "-c", wait, *folder.server_arguments(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


@dataclass(frozen=True)
class LocalSageMaker:
    """A running local SageMaker."""

    folder: Folder
    running: RunningSageMaker

    @property
    def environment(self) -> dict[str, str]:
        return client_environment(self.running, self.folder)

    def session(self, caller: str) -> boto3.Session:
        """Return a session whose calls are recorded as those of a principal of the ledger."""
        return boto3.Session(
            aws_access_key_id=self.environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.environment["AWS_SECRET_ACCESS_KEY"],
            aws_session_token=caller,
        )


@contextmanager
def local_sagemaker_in(path: Path) -> Iterator[LocalSageMaker]:
    """Run a local SageMaker in a folder, and set the environment variables of its clients."""
    folder = Folder(path)
    running = lifecycle.up(folder, ends_with_caller=True)
    try:
        aws = LocalSageMaker(folder, running)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in aws.environment.items():
                patch.setenv(name, value)
            yield aws
    finally:
        lifecycle.down(folder)
