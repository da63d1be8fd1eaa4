"""Shell scripts from documents and messages, run with bash."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.local.conftest import ROOT
from tests.local.repository import Repository
from tests.processes import output_of

PROGRAM = """#!/bin/sh
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
"""Targets of the Makefile without `install`: the test environment is already installed."""


def run_script(
    repository: Repository, folder: Path, script: str, variables: Mapping[str, str] | None = None
) -> str:
    """Run a script with bash; fail if one of its commands fails. Return stdout and stderr.

    The function writes the programs `aws`, `tritonsm` and `make` to `folder`.
    """
    programs = {
        name: PROGRAM.format(root=ROOT, python=sys.executable, module=module)
        for name, module in MODULES.items()
    }
    for name, content in {**programs, "make": MAKE}.items():
        (folder / name).write_text(content)
        (folder / name).chmod(0o755)
    return output_of(
        "bash",
        "-euo",
        "pipefail",
        "-c",
        script,
        cwd=repository.path,
        env={
            **os.environ,
            **repository.aws.environment,
            "AWS_SESSION_TOKEN": "on-call",
            "PATH": f"{folder}:{os.environ['PATH']}",
            **(variables or {}),
        },
    )
