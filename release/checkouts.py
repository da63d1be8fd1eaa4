"""The git clone around the working directory, and its commits checked out beside it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from release.tree import BYTECODE, CheckoutError, Tree, git


@dataclass(frozen=True)
class Clone(Tree):
    """A clone of the repository; as a tree, what is checked out in it."""

    @classmethod
    def here(cls) -> "Clone":
        """Return the clone around the working directory. Raises `CheckoutError` outside of one."""
        return cls(Path(cls(Path.cwd()).git("rev-parse", "--show-toplevel")))

    def git(self, *arguments: str) -> str:
        """Return what a git command prints. Raises `CheckoutError` with what it says instead."""
        return git(self.root, *arguments)

    def head(self) -> str:
        """Return the commit that is checked out."""
        return self.git("rev-parse", "HEAD")

    def is_dirty(self) -> bool:
        """Whether the tree has changes that are not committed."""
        return bool(self.git("status", "--porcelain"))

    def committed(self) -> str | None:
        """Return the commit that is checked out, None where the tree has changes of its own."""
        return None if self.is_dirty() else self.head()

    def contains(self, commit: str) -> bool:
        """Whether HEAD contains a commit. Raises `CheckoutError` where the clone cannot know."""
        fetch = "--unshallow" if self._is_shallow() else "origin"
        try:
            outside = self.git("rev-list", "--max-count=1", commit, "--not", "HEAD")
        except CheckoutError:
            raise CheckoutError(
                f"this clone does not have commit {commit[:12]}: git fetch {fetch}"
            ) from None
        if outside and self._is_shallow():
            raise CheckoutError(
                f"this clone lacks the history in which commit {commit[:12]} may be: "
                f"git fetch {fetch}"
            )
        return not outside

    def _is_shallow(self) -> bool:
        return self.git("rev-parse", "--is-shallow-repository") == "true"

    def fork_point(self, reference: str) -> str:
        """Return the commit at which HEAD left a branch.

        What was merged into the branch since then is no part of a change. A commit of another
        history is its own. Raises `CheckoutError` where there is no such commit.
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
        """Check a commit out in a temporary worktree, for the length of the `with` block.

        Raises `CheckoutError` where the clone does not have it.
        """
        with TemporaryDirectory(prefix="checkout-") as folder:
            root = Path(folder).resolve() / "tree"
            try:
                self.git("worktree", "add", "--detach", str(root), commit)
            except CheckoutError as error:
                fetch = "--unshallow" if self._is_shallow() else f"origin {commit}"
                raise CheckoutError(
                    f"{error}\n  This clone does not have the commit: git fetch {fetch}; or, "
                    "where nobody has it any more, name another commit"
                ) from None
            try:
                yield Tree(root)
            finally:
                self.git("worktree", "remove", "--force", str(root))
                shutil.rmtree(BYTECODE / root.parent.relative_to("/"), ignore_errors=True)
