"""The commit that a change is compared with."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from release.checkouts import Clone
from release.review.synthesis import Synthesis, synthesis_of
from release.tree import CheckoutError, Tree

CACHE = Path("review.out", "base")


@dataclass(frozen=True)
class Commit(Tree):
    """A checkout of a commit, whose templates are kept in the folder `cache` for the next review.

    The folder is named by the commit and by what is installed, which its app runs with.
    """

    cache: Path

    def synth(self, stage: str) -> Synthesis:
        """Return the templates of one stage. Raises `NotSynthesised`."""
        kept = self.cache / f"{stage}.json"
        if kept.is_file():
            return Synthesis(**json.loads(kept.read_text()))
        synthesis = synthesis_of(self, stage)
        self.cache.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(asdict(synthesis)))
        return synthesis


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
        yield Commit(tree.root, _cache(clone.root, commit))


def _cache(root: Path, commit: str) -> Path:
    """Return the folder for a commit's templates; those of others are removed."""
    installed = hashlib.sha256((root / "requirements.txt").read_bytes()).hexdigest()
    folder = root / CACHE / f"{commit}-{installed[:12]}"
    for other in (root / CACHE).glob("*"):
        if other != folder:
            shutil.rmtree(other)
    return folder
