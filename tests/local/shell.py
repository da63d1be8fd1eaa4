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
MODULES = {"aws": "tests.local.aws_command", "tritonsm": "tests.warm_app cli"}
MAKE = """#!/bin/sh
case $1 in
  deliver) exec tritonsm deliver "${2#STAGE=}" ;;
  rollback) exec tritonsm rollback-stage "${2#STAGE=}" ;;
esac
exit 2
"""
"""Its targets without `install`, which the environment of tests has done."""


def paste(
    repository: Repository, folder: Path, script: str, variables: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a script by bash, which ends at the first command that fails.

    `aws`, `tritonsm` and `make` are put into a folder; stdout and stderr come back as one text.
    """
    programs = {
        name: BIN.format(root=ROOT, python=sys.executable, module=module)
        for name, module in MODULES.items()
    }
    for name, content in {**programs, "make": MAKE}.items():
        (folder / name).write_text(content)
        (folder / name).chmod(0o755)
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
