"""Run commands in this process, without the start of Python and the import of boto3."""

import subprocess
from collections.abc import Callable

import boto3
import pytest

from tests.processes import run_main


def run_as(
    principal: str, main: Callable[[list[str]], int], *arguments: str
) -> "subprocess.CompletedProcess[str]":
    """Run a command; its AWS calls are recorded as calls of `principal`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_SESSION_TOKEN", principal)
        patch.setattr(boto3, "DEFAULT_SESSION", None)
        return run_main(main, *arguments, code=None)
