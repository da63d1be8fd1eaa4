"""Run commands in this process, without the start of Python and the import of boto3."""

import io
import subprocess
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout

import boto3
import pytest


def run_as(
    principal: str, main: Callable[[list[str]], int], *arguments: str
) -> "subprocess.CompletedProcess[str]":
    """Run a command; its AWS calls are recorded as calls of `principal`."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_SESSION_TOKEN", principal)
        patch.setattr(boto3, "DEFAULT_SESSION", None)
        with redirect_stdout(stdout), redirect_stderr(stderr):
            exit_code = main([*arguments])
    return subprocess.CompletedProcess(arguments, exit_code, stdout.getvalue(), stderr.getvalue())
