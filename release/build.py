"""Build a release: synthesise every stage of a checkout, once, without credentials."""

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from release.artefact import InvalidRelease, ReleaseArtefact
from release.checkout import Checkout, CheckoutError, GitCheckout

MAX_ANCESTORS = 1000
"""Commits in `release.json`: deliveries compare them with the stage's live commit."""


def build_release(
    tree: Checkout, folder: Path, stages: Iterable[str] | None = None, *, validate: bool = True
) -> ReleaseArtefact:
    """Write the release of a checkout to a new folder, with all stages by default.

    A stage that cannot be synthesised has the file STAGE.error. A checkout with uncommitted changes
    has no commit and no git tree.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True)
    names = tree.stages() if stages is None else list(stages)
    tree.synthesise_all(names, to=folder, validate=validate)
    for stage in names:
        if (folder / stage).is_dir():
            for path in copied_files(tree, stage):
                copy = folder / stage / path.relative_to(tree.root)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
    git_tree, commit, ancestors = committed(tree)
    return ReleaseArtefact.of_folder(folder, tree=git_tree, commit=commit, ancestors=ancestors)


def copied_files(tree: Checkout, stage: str) -> list[Path]:
    """Return the files of a checkout that a delivery reads: the stage's file, golden files."""
    stage_file = tree.root / "stages" / f"{stage}.yaml"
    golden_files = tree.root.glob("models/*/tests/golden.json")
    return [path for path in (stage_file, *golden_files) if path.is_file()]


def committed(tree: Checkout) -> tuple[str | None, str | None, tuple[str, ...]]:
    """Return the git tree of a checkout, its commit and ancestors; None unless it is a clean clone.

    Files that git ignores are not compared.
    """
    clone = GitCheckout(tree.root)
    try:
        return (None, None, ()) if clone.is_dirty() else _history(clone, "HEAD")
    except CheckoutError:
        return None, None, ()


def with_history(release: ReleaseArtefact, clone: GitCheckout, commit: str) -> ReleaseArtefact:
    """Return a release with a commit of a clone and its ancestors, instead of what its file says.

    The digest covers neither. Raise `CheckoutError` if the clone has no such commit, and
    `InvalidRelease` if the commit has another git tree.
    """
    git_tree, commit, ancestors = _history(clone, commit)
    if git_tree != release.tree:
        raise InvalidRelease(
            f"commit {commit} has the git tree {git_tree}, and the release was built from "
            f"{release.tree}: build the release of this commit"
        )
    return replace(release, commit=commit, ancestors=ancestors)


def _history(clone: GitCheckout, commit: str) -> tuple[str, str, tuple[str, ...]]:
    """Return the git tree of a commit, the commit, and its ancestors."""
    git_tree = clone.git("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}")
    commits = clone.git("rev-list", f"--max-count={MAX_ANCESTORS + 1}", commit).split()
    return git_tree, commits[0], tuple(commits[1:])
