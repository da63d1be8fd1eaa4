"""Build a release: synthesise every stage of a checkout, once, without credentials."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from release.artefact import ReleaseArtefact
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
        if clone.is_dirty():
            return None, None, ()
        commits = clone.git("rev-list", f"--max-count={MAX_ANCESTORS + 1}", "HEAD").split()
        return clone.git("rev-parse", "HEAD^{tree}"), commits[0], tuple(commits[1:])
    except CheckoutError:
        return None, None, ()
