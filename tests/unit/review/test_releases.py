"""Releases that are not those of the reviewed files, or differ where templates do not."""

from pathlib import Path

import pytest

from release.artefact import ReleaseArtefact
from release.build import build_release
from release.checkout import GitCheckout
from review.releases import release_gaps
from tests.unit.conftest import commit
from tests.unit.review.conftest import write_file

GOLDEN = "models/minilm/tests/golden.json"


@pytest.fixture
def release(clone: GitCheckout, tmp_path: Path) -> ReleaseArtefact:
    write_file(clone, GOLDEN, "{}")
    write_file(clone, "assemblies/prod/asset.1a/index.py", "old")
    commit(clone)
    return build_release(clone, tmp_path / "release")


def gaps(base: ReleaseArtefact, head: ReleaseArtefact, clone: GitCheckout) -> list[str]:
    return [f"{gap.part}: {gap.reason}" for gap in release_gaps(base, head, clone)]


def changed(release: ReleaseArtefact, name: str, content: str) -> ReleaseArtefact:
    """Change a file of the release, as a hostile app would have written it."""
    (release.folder / name).write_text(content)
    return ReleaseArtefact.of_folder(release.folder, tree=release.tree, commit=release.commit)


def test_release_of_the_reviewed_commit_has_no_gap(
    clone: GitCheckout, release: ReleaseArtefact
) -> None:
    assert release.tree == clone.git("rev-parse", "HEAD^{tree}")
    assert gaps(release, release, clone) == []


def test_release_of_another_tree_is_not_reviewed(
    clone: GitCheckout, release: ReleaseArtefact
) -> None:
    write_file(clone, "new", "")
    commit(clone)
    (gap,) = gaps(release, release, clone)
    assert gap.startswith(f"release: it was built from the git tree {release.tree}, and the files")


@pytest.mark.parametrize("name", [GOLDEN, "stages/prod.yaml"])
def test_other_copies_than_the_files_are_not_reviewed(
    clone: GitCheckout, release: ReleaseArtefact, name: str
) -> None:
    (gap,) = gaps(release, changed(release, f"prod/{name}", "other"), clone)
    assert gap.startswith("prod: the copies of stage file and golden files are not those")


def test_asset_with_another_content_under_its_old_name_is_not_reviewed(
    clone: GitCheckout, release: ReleaseArtefact
) -> None:
    head = changed(release, "prod/asset.1a/index.py", "new")
    (gap,) = gaps(release, head, clone)
    assert gap == "asset.1a: has another content than an asset of the same name in the base"


def test_error_of_a_stage_and_other_files_at_the_root_have_no_copies(
    clone: GitCheckout, release: ReleaseArtefact
) -> None:
    """The review of the stage itself tells the error."""
    for name in ("prod.error", "notes"):
        assert gaps(release, changed(release, name, "two problems"), clone) == []
