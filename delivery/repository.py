"""The commits of this repository."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from delivery.errors import NotDelivered


@dataclass(frozen=True)
class Tree:
    """The app as one commit, or the working tree, has it."""

    root: Path

    @property
    def models(self) -> Path:
        """The folder of models."""
        return self.root / "models"

    def region(self, stage: str) -> str:
        """Return the region of a stage. Raises `NotDelivered` where there is no such stage."""
        try:
            return str(
                yaml.safe_load((self.root / "stages" / f"{stage}.yaml").read_text())["region"]
            )
        except FileNotFoundError:
            raise NotDelivered(f"there is no stages/{stage}.yaml") from None
        except (yaml.YAMLError, KeyError, TypeError) as error:
            raise NotDelivered(f"stages/{stage}.yaml has no region: {error}") from None


@dataclass(frozen=True)
class Repository(Tree):
    """The git repository around the working directory; as a tree, what is checked out in it."""

    @classmethod
    def here(cls) -> "Repository":
        """Find it. Raises `NotDelivered` outside of one."""
        return cls(Path(_git(Path.cwd(), "rev-parse", "--show-toplevel")))

    def committed(self) -> str | None:
        """Return the commit that the working tree is, None where it has changes of its own."""
        if _git(self.root, "status", "--porcelain"):
            return None
        return _git(self.root, "rev-parse", "HEAD")

    @contextmanager
    def checked_out(self, commit: str) -> Iterator[Tree]:
        """Check a commit out beside this tree, for the length of the `with` block."""
        with TemporaryDirectory(prefix="delivery-") as folder:
            tree = Path(folder).resolve() / "tree"
            try:
                _git(self.root, "worktree", "add", "--detach", str(tree), commit)
            except NotDelivered as error:
                raise NotDelivered(
                    f"{error}\n  A clone without its history: git fetch --unshallow"
                ) from None
            try:
                yield Tree(tree)
            finally:
                _git(self.root, "worktree", "remove", "--force", str(tree))


def _git(folder: Path, *arguments: str) -> str:
    finished = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    if finished.returncode:
        raise NotDelivered(f"git {' '.join(arguments)}: {finished.stderr.strip()}")
    return finished.stdout.strip()
