"""The git clone around the working directory, and its commits checked out beside it."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from release.tree import CheckoutError, Tree


@dataclass(frozen=True)
class Clone(Tree):
    """A clone of the repository; as a tree, what is checked out in it."""

    @classmethod
    def here(cls) -> "Clone":
        """Return the clone around the working directory. Raises `CheckoutError` outside of one."""
        return cls(Path(cls(Path.cwd()).git("rev-parse", "--show-toplevel")))

    def git(self, *arguments: str) -> str:
        """Return what a git command prints. Raises `CheckoutError` with what it says instead."""
        finished = subprocess.run(
            ["git", *arguments], cwd=self.root, capture_output=True, text=True, check=False
        )
        if finished.returncode:
            raise CheckoutError(f"git {' '.join(arguments)}: {finished.stderr.strip()}")
        return finished.stdout.strip()

    def head(self) -> str:
        """Return the commit that is checked out."""
        return self.git("rev-parse", "HEAD")

    def is_dirty(self) -> bool:
        """Whether the tree has changes that are not committed."""
        return bool(self.git("status", "--porcelain"))

    def committed(self) -> str | None:
        """Return the commit that is checked out, None where the tree has changes of its own."""
        return None if self.is_dirty() else self.head()

    @contextmanager
    def checked_out(self, commit: str) -> Iterator[Tree]:
        """Check a commit out in a temporary worktree, for the length of the `with` block.

        Raises `CheckoutError` where the clone does not have it.
        """
        with TemporaryDirectory(prefix="checkout-") as folder:
            root = Path(folder).resolve() / "tree"
            try:
                self.git("worktree", "add", "--detach", str(root), commit)
            except CheckoutError as error:
                raise CheckoutError(
                    f"{error}\n  A clone without its history: git fetch --unshallow"
                ) from None
            try:
                yield Tree(root)
            finally:
                self.git("worktree", "remove", "--force", str(root))
