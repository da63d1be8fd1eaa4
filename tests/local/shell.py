"""The commands that a document or a message gives, run as somebody on call pastes them."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.local.conftest import ROOT
from tests.local.repository import Repository

BIN = """#!/bin/sh
PYTHONPATH={root}${{PYTHONPATH:+:$PYTHONPATH}} exec {python} -m {module} "$@"
"""
MODULES = {"aws": "tests.local.aws_command", "tritonsm": "cli"}


def paste(
    repository: Repository, folder: Path, script: str, variables: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a script by bash, which ends at the first command that fails.

    `aws` and `tritonsm` are put into a folder; stdout and stderr come back as one text.
    """
    for name, module in MODULES.items():
        file = folder / name
        file.write_text(BIN.format(root=ROOT, python=sys.executable, module=module))
        file.chmod(0o755)
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=repository.path,
        env={
            **os.environ,
            **repository.aws.environment,
            "AWS_SESSION_TOKEN": "on-call",
            "PATH": f"{folder}:{os.environ['PATH']}",
            **(variables or {}),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
