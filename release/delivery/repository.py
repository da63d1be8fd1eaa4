"""The commits of this repository."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from release.checkouts import CheckoutError, git, repository_root, stage_file, worktree


@dataclass(frozen=True)
class Tree:
    """The app as one commit, or the working tree, has it."""

    root: Path

    @property
    def models(self) -> Path:
        """The folder of models."""
        return self.root / "models"

    def region(self, stage: str) -> str:
        """Return the region of a stage. Raises `CheckoutError` where there is no such stage."""
        return stage_file(self.root, stage).region


@dataclass(frozen=True)
class Repository(Tree):
    """The git repository around the working directory; as a tree, what is checked out in it."""

    @classmethod
    def here(cls) -> "Repository":
        """Find it. Raises `CheckoutError` outside of one."""
        return cls(repository_root())

    def committed(self) -> str | None:
        """Return the commit that the working tree is, None where it has changes of its own."""
        if git(self.root, "status", "--porcelain"):
            return None
        return git(self.root, "rev-parse", "HEAD")

    @contextmanager
    def checked_out(self, commit: str) -> Iterator[Tree]:
        """Check a commit out for the length of the `with` block. Raises `CheckoutError`."""
        try:
            git(self.root, "cat-file", "-e", f"{commit}^{{commit}}")
        except CheckoutError as error:
            raise CheckoutError(
                f"{error}\n  A clone without its history: git fetch --unshallow"
            ) from None
        with worktree(self.root, commit) as root:
            yield Tree(root)
