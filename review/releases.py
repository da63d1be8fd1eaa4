"""Properties of a release that templates do not show."""

import hashlib
from collections.abc import Iterator

from release.artefact import ReleaseArtefact
from release.build import committed, copied_files
from release.checkout import Checkout
from review.report import Gap

ASSET = "asset."
"""Prefix of an asset's name in an assembly, which ends with a hash that the app has chosen."""


def release_gaps(
    base: ReleaseArtefact, head: ReleaseArtefact, head_tree: Checkout
) -> Iterator[Gap]:
    """Yield why the review of the change's files is not a review of the release `head`."""
    git_tree = committed(head_tree)[0]
    if git_tree != head.tree:
        yield Gap(
            "release",
            f"it was built from the git tree {head.tree}, and the files of the change are the tree "
            f"{git_tree}: build the release of this commit",
        )
    yield from _copy_gaps(head, head_tree)
    yield from _asset_gaps(base, head)


def _copy_gaps(release: ReleaseArtefact, tree: Checkout) -> Iterator[Gap]:
    """Yield stages with other copies of the stage's file, or of the golden files, than the tree.

    A delivery reads the region there, and invokes production with the golden files.
    """
    for stage in sorted({name.partition("/")[0] for name in release.files if "/" in name}):
        expected = {
            f"{stage}/{path.relative_to(tree.root).as_posix()}": hashlib.sha256(
                path.read_bytes()
            ).hexdigest()
            for path in copied_files(tree, stage)
        }
        copies = {
            name: digest
            for name, digest in release.part(stage).items()
            if name.removeprefix(f"{stage}/").partition("/")[0] in ("models", "stages")
        }
        if copies != expected:
            reason = "the copies of stage file and golden files are not those of the change"
            yield Gap(stage, reason)


def _asset_gaps(*releases: ReleaseArtefact) -> Iterator[Gap]:
    """Yield assets with one name and several contents: templates would show no change."""
    contents: dict[str, dict[tuple[int, str], dict[str, str]]] = {}
    for number, release in enumerate(releases):
        for name, digest in release.files.items():
            stage, _, path = name.partition("/")
            asset, _, file = path.partition("/")
            if asset.startswith(ASSET):
                places = contents.setdefault(asset, {})
                places.setdefault((number, stage), {})[file] = digest
    for asset, places in sorted(contents.items()):
        if any(files != next(iter(places.values())) for files in places.values()):
            yield Gap(asset, "has another content than an asset of the same name in the base")
