"""Build a release: synthesise every stage of a checkout, once, without credentials."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from release.artefact import ReleaseArtefact
from release.checkouts import Clone
from release.tree import CheckoutError, Tree

GOLDEN_FILES = "models/*/tests/golden.json"
MAX_ANCESTORS = 1000
"""Commits in `release.json`: deliveries compare them with the stage's live commit."""


def build_release(
    tree: Tree, folder: Path, stages: Iterable[str] | None = None, *, validate: bool = True
) -> ReleaseArtefact:
    """Write the release of a checkout to a new folder, with all stages by default.

    A stage that cannot be synthesised has the file STAGE.error. A checkout with uncommitted changes
    has no commit and no git tree.
    """
    folder.mkdir(parents=True)
    names = tree.stages() if stages is None else list(stages)
    tree.synthesise_all(names, to=folder, validate=validate)
    for stage in names:
        if (folder / stage).is_dir():
            for path in tree.root.glob(GOLDEN_FILES):
                copy = folder / stage / path.relative_to(tree.root)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
    git_tree, commit, ancestors = committed(tree)
    return ReleaseArtefact.of_folder(folder, tree=git_tree, commit=commit, ancestors=ancestors)


def committed(tree: Tree) -> tuple[str | None, str | None, tuple[str, ...]]:
    """Return the git tree of a checkout, its commit and ancestors; None unless it is a clean clone.

    Files that git ignores are not compared.
    """
    clone = Clone(tree.root)
    try:
        if clone.is_dirty():
            return None, None, ()
        commits = clone.git("rev-list", f"--max-count={MAX_ANCESTORS + 1}", "HEAD").split()
        return clone.git("rev-parse", "HEAD^{tree}"), commits[0], tuple(commits[1:])
    except CheckoutError:
        return None, None, ()
