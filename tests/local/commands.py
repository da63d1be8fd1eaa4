"""Commands in this process, which has loaded Python, boto3 and the models of AWS's APIs already."""

import io
import subprocess
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout

import boto3
import pytest


def run_as(
    caller: str, main: Callable[[list[str]], int], *arguments: str
) -> "subprocess.CompletedProcess[str]":
    """Run a command; its calls are recorded as those of a principal of the ledger."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_SESSION_TOKEN", caller)
        patch.setattr(boto3, "DEFAULT_SESSION", None)
        with redirect_stdout(stdout), redirect_stderr(stderr):
            code = main([*arguments])
    return subprocess.CompletedProcess(arguments, code, stdout.getvalue(), stderr.getvalue())
