"""A copy of the app that is a Git repository of its own, whose commits are delivered."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import chdir
from dataclasses import dataclass
from typing import Self

import pytest

from delivery import smoke, steps
from delivery.command import RELEASE
from local_sagemaker.tests.support.tiny_models import PLUS_ONE, Barrier, times, write_python
from release.artefact import FILE
from tests.local.commands import run_as
from tests.local.conftest import ROOT, Checkout
from tests.processes import run_program
from tests.tritonsm import tritonsm


def pause_on_load(barrier: Barrier, code: str) -> str:
    """Return the code of a Python model that waits for a barrier while it is loaded."""
    first_line = "class TritonPythonModel:\n"
    initialize = "    def initialize(self, args):\n        pause()\n\n"
    return barrier.pause_code + code.replace(first_line, first_line + initialize)


@dataclass(frozen=True)
class Repository(Checkout):
    """A copy of the app that is a Git repository of its own."""

    @classmethod
    def create(cls, checkout: Checkout, **stages: str) -> Self:
        """Return a repository without commits; `stage` is the last one of these stage files.

        It has the models `times`, which doubles, and `plus`.
        """
        shutil.copy2(ROOT / ".gitignore", checkout.path)
        for name, content in stages.items():
            checkout.write_stage(name, content)
        repository = cls(checkout.path, checkout.aws, stage=[*stages][-1])
        repository.git("init", "--quiet")
        repository.write_model("times", times(2), answer=14)
        repository.write_model("plus", PLUS_ONE, answer=8)
        return repository

    def git(self, *arguments: str) -> str:
        return run_program(
            "git",
            "-c",
            "user.name=test",
            "-c",
            "user.email=test@localhost",
            *arguments,
            cwd=self.path,
        ).stdout.strip()

    def commit(self, message: str) -> str:
        """Commit everything; return the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")

    def run(self, *arguments: str, code: int = 0) -> str:
        """Run a command of tritonsm in this process, which must exit with `code`.

        Return stdout and stderr.
        """
        with chdir(self.path), pytest.MonkeyPatch.context() as patch:
            patch.setattr(steps, "POLL_SECONDS", 1)
            patch.setattr(smoke, "WAKE_PAUSE_SECONDS", 0.2)
            process = run_as("delivery", tritonsm, *arguments)
        output = process.stdout + process.stderr
        assert process.returncode == code, output
        return output

    def build(self) -> None:
        """Build the release of the checked out commit, unless it was built before."""
        commit, file = self.git("rev-parse", "HEAD"), self.path / RELEASE / FILE
        is_current = file.is_file() and json.loads(file.read_text())["commit"] == commit
        if not is_current or self.git("status", "--porcelain"):
            with chdir(self.path):
                tritonsm(["release", "build"])  # a stage may have an error: its delivery shows it

    def deliver(self, *options: str, stage: str = "", code: int = 0) -> str:
        """Deliver the release of the checked out commit to a stage; return the output."""
        self.build()
        return self.run("deliver", stage or self.stage, *options, code=code)

    def start_delivery(self) -> "subprocess.Popen[str]":
        """Start a delivery to the stage in a new process; its stdout includes stderr."""
        self.build()
        return subprocess.Popen(
            [sys.executable, "-m", "cli", "deliver", self.stage],
            cwd=self.path,
            env={
                **os.environ,
                **self.aws.environment,
                "AWS_SESSION_TOKEN": "delivery",  # the name of the caller in recorded calls
                "PYTHONPATH": str(ROOT),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def write_model(self, name: str, code: str, *, answer: float, loads: bool = True) -> None:
        """Write a model, and its golden file with the output for 7.

        With `loads`, it has no recipe, and its build loads it.
        """
        folder = write_python(self.path / "models" / name, code)
        if not loads:
            recipe = "description: x\nload: { skip: the test opens its barrier later }\n"
            (folder / "recipe.yaml").write_text(recipe)
        (folder / "tests").mkdir(exist_ok=True)
        golden = {
            "inputs": {"X": {"datatype": "FP32", "shape": [1, 1], "data": [7]}},
            "outputs": {"Y": {"shape": [1, 1], "data": [answer]}},
        }
        (folder / "tests" / "golden.json").write_text(json.dumps(golden))
