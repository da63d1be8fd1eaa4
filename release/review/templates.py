"""The templates of one stage, as a commit or the working tree synthesises them."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from release.checkouts import CheckoutError, git, import_path, templates, worktree

Template = dict[str, Any]
STAGES = "stages"
CACHE = Path("review.out", "base")
ACKNOWLEDGED = "aws:cdk:acknowledged-rules"
AS_THE_CLI = {"aws:cdk:enable-asset-metadata": True, "aws:cdk:enable-path-metadata": True}
"""What the cdk CLI adds to the context: paths of constructs and assets in templates."""


class NotSynthesised(Exception):
    """A tree has no templates: its app failed, and this is what it said."""


@dataclass(frozen=True)
class Synthesis:
    """What an app makes of a stage.

    `templates` is stack name -> template, `acknowledged` has a line for each finding of cdk-nag
    that the app declares to be meant so, None where nobody knows.
    """

    templates: dict[str, Template]
    acknowledged: tuple[str, ...] | None = None


class Base(Protocol):
    """What a change is compared with: a commit, or what is deployed."""

    @property
    def root(self) -> Path | None:
        """The checkout, None where there is none."""

    def stages(self) -> list[str]:
        """Return the names of the stages that it has."""

    def synth(self, stage: str) -> Synthesis:
        """Return the templates of one stage. Raises `NotSynthesised`."""

    def change_sets(self, after: dict[str, Template]) -> dict[str, Any]:
        """Return stack name -> what CloudFormation says that `after` would do to it."""


@dataclass(frozen=True)
class Tree:
    """A checkout of the repository."""

    root: Path

    def stages(self) -> list[str]:
        """Return the names of the stages that it has."""
        return sorted(path.stem for path in (self.root / STAGES).glob("*.yaml"))

    def synth(self, stage: str) -> Synthesis:
        """Return the templates of one stage. Raises `NotSynthesised`."""
        context = json.loads((self.root / "cdk.json").read_text()).get("context", {})
        with TemporaryDirectory(prefix="review-") as out:
            finished = subprocess.run(
                [sys.executable, "app.py"],
                cwd=self.root,
                env={
                    **os.environ,
                    "PYTHONPATH": import_path(self.root),
                    "PYTHONDONTWRITEBYTECODE": "1",
                    "CDK_OUTDIR": out,
                    "CDK_CONTEXT_JSON": json.dumps({**context, **AS_THE_CLI, "stage": stage}),
                },
                capture_output=True,
                text=True,
                check=False,
            )
            if finished.returncode:
                lines = (finished.stderr.strip() or "it ended without a word").splitlines()
                said = [line for line in lines if line.startswith("error: ")] or lines[-1:]
                raise NotSynthesised("\n".join(said).removeprefix("error: "))
            return Synthesis(templates(Path(out)), tuple(_acknowledged(Path(out))))

    def change_sets(self, after: dict[str, Template]) -> dict[str, Any]:  # noqa: ARG002
        """Return nothing: a commit is nowhere deployed."""
        return {}


def _acknowledged(assembly: Path) -> Iterator[str]:
    """Yield what the app acknowledges, out of the metadata of its constructs."""
    for path in sorted(assembly.glob("*.metadata.json")):
        for construct, entries in sorted(json.loads(path.read_text()).items()):
            for entry in entries:
                if entry["type"] == ACKNOWLEDGED:
                    for finding, reason in sorted(entry["data"].items()):
                        rule = finding.removeprefix("Annotation::")
                        yield f"cdk-nag: {construct.removeprefix('/')}: {rule}: {reason}"


@dataclass(frozen=True)
class Commit(Tree):
    """A checkout of a commit, whose templates are kept below `cache` for the next review.

    `cache` is named by the commit and by what is installed, which its app runs with.
    """

    cache: Path

    def synth(self, stage: str) -> Synthesis:
        """Return the templates of one stage. Raises `NotSynthesised`."""
        kept = self.cache / f"{stage}.json"
        if kept.is_file():
            return Synthesis(**json.loads(kept.read_text()))
        synthesis = super().synth(stage)
        self.cache.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(asdict(synthesis)))
        return synthesis


@contextmanager
def checked_out(repository: Path, reference: str) -> Iterator[Commit]:
    """Check out where HEAD left a branch, beside the repository, for the length of the block.

    What was merged into the branch since then is not of this change. Raises `NotSynthesised` where
    there is no such commit.
    """
    try:
        commit = git(repository, "rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}")
    except CheckoutError:
        raise NotSynthesised(
            f"there is no commit {reference}: fetch it, or write another BASE"
        ) from None
    with suppress(CheckoutError):  # of another history, it is compared itself
        commit = git(repository, "merge-base", "HEAD", commit)
    with worktree(repository, commit) as root:
        yield Commit(root, _cache(repository, commit))


def _cache(repository: Path, commit: str) -> Path:
    """Return the folder for a commit's templates; those of others are removed."""
    installed = hashlib.sha256((repository / "requirements.txt").read_bytes()).hexdigest()
    folder = repository / CACHE / f"{commit}-{installed[:12]}"
    for other in (repository / CACHE).glob("*"):
        if other != folder:
            shutil.rmtree(other)
    return folder
