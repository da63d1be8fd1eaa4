"""A checkout with its own history, whose commits are delivered."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import chdir
from dataclasses import dataclass
from typing import Self

import pytest

from local_sagemaker.tests.support.tiny_models import write_python
from release.delivery import steps
from tests.local.commands import run_as
from tests.local.conftest import ROOT, Checkout
from tests.tritonsm import tritonsm


@dataclass(frozen=True)
class Repository(Checkout):
    """A checkout with its own history."""

    @classmethod
    def of(cls, checkout: Checkout, **stages: str) -> Self:
        """Return a checkout without a commit, with these files of stages: the last is its own."""
        shutil.copy2(ROOT / ".gitignore", checkout.path)
        for name, content in stages.items():
            (checkout.path / "stages" / f"{name}.yaml").write_text(content)
        repository = cls(checkout.path, checkout.aws, stage=[*stages][-1])
        repository.git("init", "--quiet")
        return repository

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", *arguments],
            cwd=self.path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    def commit(self, message: str) -> str:
        """Commit everything; return the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")

    def delivery(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run one of its commands in this process; stdout and stderr come back as one text."""
        with chdir(self.path), pytest.MonkeyPatch.context() as patch:
            patch.setattr(steps, "POLL_SECONDS", 1)
            finished = run_as("delivery", tritonsm, *arguments)
        printed = finished.stdout + finished.stderr  # the error is printed last
        return subprocess.CompletedProcess(arguments, finished.returncode, printed)

    def deliver(self, *arguments: str, code: int = 0) -> str:
        """Deliver what is checked out to the stage, or run another command; return its output."""
        finished = self.delivery(*(arguments or ("deliver",)), self.stage)
        assert finished.returncode == code, finished.stdout
        return finished.stdout

    def delivering(self, *arguments: str) -> "subprocess.Popen[str]":
        """Begin one of its commands in a process of its own, as whoever delivers does.

        stdout and stderr come as one text.
        """
        return subprocess.Popen(
            [sys.executable, "-m", "tests.warm_app", "cli", *arguments],
            cwd=self.path,
            env={
                **os.environ,
                **self.aws.environment,
                "AWS_SESSION_TOKEN": "delivery",
                "PYTHONPATH": str(ROOT),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def write_model(self, name: str, code: str, *, answer: float) -> None:
        """Write a repository without a recipe, and what it must answer to 7."""
        folder = write_python(self.path / "models" / name, code)
        (folder / "tests").mkdir(exist_ok=True)
        golden = {
            "inputs": {"X": {"datatype": "FP32", "shape": [1, 1], "data": [7]}},
            "outputs": {"Y": {"shape": [1, 1], "data": [answer]}},
        }
        (folder / "tests" / "golden.json").write_text(json.dumps(golden))
