"""A checkout of this repository: its files, its stages, and its app."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from platform_facts.rules import checked_yaml, stage_files

APP = "app.py"
ERROR_SUFFIX = ".error"
"""Suffix of the file STAGE.error, which contains the reason if a stage has no assembly."""
COMPILED = ("*.pyc", "*.pyo", "*__pycache__/*")
"""git's patterns for compiled Python. A file with an unchecked hash in a `__pycache__` runs in
place of its source, even if that differs (PEP 552)."""
CLI_CONTEXT = {"aws:cdk:enable-asset-metadata": True, "aws:cdk:enable-path-metadata": True}
"""Context that the cdk CLI adds: templates then have the paths of constructs and assets."""

WITHOUT_VALIDATION = {"CDK_VALIDATION": "false"}
"""The environment variable of `cdk --no-validation`. aws-cdk-lib adds its
CloudFormationValidatePlugin unless it is "false" (defaultValidationEnabled in
core/lib/private/synthesis-validation.js of 2.275.0)."""

BYTECODE = Path(os.environ.get("PYTHONPYCACHEPREFIX") or Path(sys.prefix, "bytecode"))
"""The folder of Python's bytecode cache: outside of every tree, so that no commit contains it."""

PROGRAMS = Path(sys.executable).parent
"""The folder of the pinned linters and Node.js; it comes first in PATH."""

_INHERITED_VARIABLES = re.compile(r"PATH|LANG|TMPDIR|XDG_CACHE_HOME|(LC|CDK|JSII|TRITON)_\w+")
"""Environment variables that the app and linters of a tree inherit; none contains credentials. The
processes can still read files and use the network."""

_TRACEBACK = re.compile(r"^(?:jsii\.errors\.\w+:|Traceback ).*\n(?=\S)", re.M | re.S)


class CheckoutError(Exception):
    """A git command failed, or a tree has no readable file of a stage."""


class NotSynthesised(CheckoutError):
    """The app of a tree failed; the message is its error output."""


class StageFile(BaseModel):
    """The fields that deliveries and reviews read; the CDK app checks the whole file.

    `existing` has the IDs of resources that the stage does not create. `max_monthly_usd` limits the
    monthly cost of the stage's instances, None for no limit.
    """

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    region: Annotated[str, Field(min_length=1)]
    production: bool = False
    account: Annotated[str, Field(strict=False, coerce_numbers_to_str=True)] | None = None
    max_monthly_usd: float | None = None
    existing: dict[str, Any] = {}


@dataclass(frozen=True)
class Checkout:
    """A checkout of the repository."""

    root: Path

    @property
    def models(self) -> Path:
        """The folder of models."""
        return self.root / "models"

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables for a process that runs the tree's code, without credentials.

        Python reads bytecode only from outside of the tree: a `__pycache__` in the tree would run
        in place of the reviewed source.
        """
        inherited = {
            name: value
            for name, value in os.environ.items()
            if _INHERITED_VARIABLES.fullmatch(name)
        }
        return {
            "XDG_CACHE_HOME": str(Path.home() / ".cache"),  # jsii unpacks the CDK there
            **inherited,
            "PATH": os.pathsep.join([str(PROGRAMS), inherited.get("PATH", "")]),
            "AWS_EC2_METADATA_DISABLED": "true",
            "HOME": "/nonexistent",
            "PYTHONPATH": os.pathsep.join([str(self.root), str(self.root / "constructs")]),
            "PYTHONPYCACHEPREFIX": str(BYTECODE),
        }

    def files(self, *options: str) -> dict[str, bytes]:
        """Return path -> content of the tracked files, and of files that `ls-files` options add.

        The content of a symbolic link is its target. Raise `CheckoutError` outside of a clone.
        """
        names = git(self.root, "ls-files", "-z", "--cached", *options)
        paths = {name: self.root / name for name in names.split("\0") if name}
        return {
            name: os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            for name, path in paths.items()
            if path.is_symlink() or path.is_file()
        }

    def compiled(self) -> list[str]:
        """Return the compiled Python files that git tracks; Python would run them, not sources."""
        with suppress(CheckoutError):  # outside of a clone, no file is tracked
            names = git(self.root, "ls-files", "-z", "--", *COMPILED).split("\0")
            return [name for name in names if name]
        return []

    def links(self) -> list[str]:
        """Return the symbolic links and submodules that git tracks; their content is elsewhere."""
        entries = git(self.root, "ls-files", "-z", "--stage").split("\0")
        return [
            entry.partition("\t")[2] for entry in entries if entry.startswith(("120000", "160000"))
        ]

    def stages(self) -> list[str]:
        """Return the names of the stages."""
        return stage_files.stage_names(self.root / "stages")

    def stage(self, name: str) -> StageFile:
        """Return a stage's file. Raise `CheckoutError` if it is missing or invalid."""
        try:
            return stage_files.read_stage(name, self.root / "stages", StageFile)
        except (stage_files.UnknownStage, checked_yaml.InvalidFile) as error:
            raise CheckoutError(str(error)) from None

    def synthesise(self, stage: str, *, to: Path, validate: bool = True) -> None:
        """Run the tree's app, which writes the cloud assembly of a stage to the folder `to`.

        The assembly is that of `cdk synth`, because the app makes no context lookups; `validate` is
        that of `synthesise_all`. Raise `NotSynthesised`.
        """
        environment = {"CDK_OUTDIR": str(to), **({} if validate else WITHOUT_VALIDATION)}
        finished = self._run_app(environment=environment, context={"stage": stage})
        if finished.returncode:
            raise NotSynthesised(_reason(to, finished))

    def synthesise_all(self, stages: Iterable[str], *, to: Path, validate: bool = True) -> None:
        """Run the tree's app once for all `stages`; write the assembly of each to `to`/STAGE.

        If a stage fails, the reason is in the file STAGE.error. Without `validate`, the CDK does
        not validate the templates, which saves about half of the time; cdk-nag always runs.
        """
        names, environment = list(stages), {} if validate else WITHOUT_VALIDATION
        try:
            finished = self._run_app(str(to), *names, environment=environment)
        except NotSynthesised as error:
            finished = subprocess.CompletedProcess((), 1, stderr=str(error))
        for name in names:
            error_file = to / f"{name}{ERROR_SUFFIX}"
            if error_file.is_file():
                finished.stderr = error_file.read_text(encoding="utf-8")
            if error_file.is_file() or finished.returncode:
                error_file.write_text(_reason(to / name, finished), encoding="utf-8")

    def _run_app(
        self,
        *arguments: str,
        environment: Mapping[str, str],
        context: Mapping[str, str] = MappingProxyType({}),
    ) -> "subprocess.CompletedProcess[str]":
        if compiled := self.compiled():
            raise NotSynthesised(
                f"{', '.join(compiled)}: compiled Python would run in place of its source: git rm"
            )
        try:
            settings = json.loads((self.root / "cdk.json").read_text()).get("context", {})
        except (OSError, ValueError) as error:
            raise NotSynthesised(f"cdk.json: {error}") from None
        values = json.dumps({**settings, **CLI_CONTEXT, **context})
        environment = {**self.environment, **environment, "CDK_CONTEXT_JSON": values}
        return run_app((APP, *arguments), cwd=self.root, environment=environment)


@dataclass(frozen=True)
class GitCheckout(Checkout):
    """A git clone of the repository; as a `Checkout`, its checked-out files."""

    @classmethod
    def of_working_directory(cls) -> "GitCheckout":
        """Return the clone of the working directory. Raise `CheckoutError` if there is none."""
        return cls(Path(cls(Path.cwd()).git("rev-parse", "--show-toplevel")))

    def git(self, *arguments: str) -> str:
        """Return the output of a git command. Raise `CheckoutError` with its error."""
        return git(self.root, *arguments)

    def head(self) -> str:
        """Return the commit that is checked out."""
        return self.git("rev-parse", "HEAD")

    def is_dirty(self) -> bool:
        """Return whether the working tree has uncommitted changes."""
        return bool(self.git("status", "--porcelain"))

    def fork_point(self, reference: str) -> str:
        """Return the merge base of HEAD and a branch: later commits of the branch are not reviewed.

        Without a common history, return the branch's own commit. Raise `CheckoutError` if there is
        no such branch or commit.
        """
        try:
            commit = self.git("rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}")
        except CheckoutError:
            raise CheckoutError(
                f"there is no commit {reference}: fetch it, or write another BASE"
            ) from None
        with suppress(CheckoutError):
            commit = self.git("merge-base", "HEAD", commit)
        return commit

    @contextmanager
    def checked_out(self, commit: str) -> Iterator[Checkout]:
        """Check a commit of the clone out in a temporary worktree during the `with` block."""
        with TemporaryDirectory(prefix="checkout-") as folder:
            root = Path(folder).resolve() / "tree"
            self.git("worktree", "add", "--detach", str(root), commit)
            try:
                yield Checkout(root)
            finally:
                self.git("worktree", "remove", "--force", str(root))
                shutil.rmtree(BYTECODE / root.parent.relative_to("/"), ignore_errors=True)


def git(root: Path, *arguments: str) -> str:
    """Return the output of a git command in a folder. Raise `CheckoutError` with its error."""
    finished = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    if finished.returncode:
        raise CheckoutError(f"git {' '.join(arguments)}: {finished.stderr.strip()}")
    return finished.stdout.strip()


def run_app(
    program: Sequence[str], *, cwd: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a Python program and capture its standard error."""
    return subprocess.run(
        [sys.executable, *program],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


def nag_errors(assembly: Path) -> Iterator[str]:
    """Yield rule, construct and reason of each error in the CDK's validation report."""
    report = assembly / "validation-report.json"
    if not report.is_file():
        return
    for plugin in json.loads(report.read_text(encoding="utf-8"))["pluginReports"]:
        for violation in plugin["violations"]:
            if violation["severity"] == "error":
                for construct in violation["violatingConstructs"]:
                    path = construct["constructPath"]
                    yield f"{violation['ruleName']}: {path}: {violation['description']}"


def _reason(assembly: Path, finished: "subprocess.CompletedProcess[str]") -> str:
    """Return why the app wrote no valid assembly: the errors of cdk-nag, or its own error."""
    reason = "\n".join(nag_errors(assembly)) or _short_error(finished.stderr)
    return reason or f"exit code {finished.returncode}"


def _short_error(stderr: str) -> str:
    """Return the app's standard error, with only the last line of a traceback."""
    return _TRACEBACK.sub("", stderr.strip()).removeprefix("error: ")
