"""The git clone of the working directory, and temporary worktrees of its commits."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from release.tree import BYTECODE, CheckoutError, Tree, git


@dataclass(frozen=True)
class Clone(Tree):
    """A git clone of the repository; as a `Tree`, its checked-out files."""

    @classmethod
    def of_working_directory(cls) -> "Clone":
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
    def checked_out(self, commit: str) -> Iterator[Tree]:
        """Check a commit of the clone out in a temporary worktree during the `with` block."""
        with TemporaryDirectory(prefix="checkout-") as folder:
            root = Path(folder).resolve() / "tree"
            self.git("worktree", "add", "--detach", str(root), commit)
            try:
                yield Tree(root)
            finally:
                self.git("worktree", "remove", "--force", str(root))
                shutil.rmtree(BYTECODE / root.parent.relative_to("/"), ignore_errors=True)
