"""The commit that a change is compared with."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from release.checkouts import Clone
from release.review.synthesis import Synthesis, synthesis_of
from release.tree import CheckoutError, Tree


@dataclass(frozen=True)
class Commit(Tree):
    """A checkout of a commit; what its app makes is kept below the clone that it is of."""

    commit: str
    clone: Path

    def synth(self, stage: str) -> Synthesis:
        """Return the templates of one stage. Raises `NotSynthesised`."""
        return synthesis_of(self, stage, clone=self.clone)


@contextmanager
def checked_out(clone: Clone, reference: str) -> Iterator[Commit]:
    """Check out where HEAD left a branch, for the length of the `with` block.

    What was merged into the branch since then is not part of this change. Raises `CheckoutError`
    where there is no such commit.
    """
    try:
        commit = clone.git("rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}")
    except CheckoutError:
        raise CheckoutError(
            f"there is no commit {reference}: fetch it, or write another BASE"
        ) from None
    with suppress(CheckoutError):  # of another history, it is compared itself
        commit = clone.git("merge-base", "HEAD", commit)
    with clone.checked_out(commit) as tree:
        yield Commit(tree.root, commit, clone.root)
