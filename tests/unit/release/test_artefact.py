"""Releases whose files, digest or description are not those that were built."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from release.artefact import FILE, InvalidRelease, ReleaseArtefact

TEMPLATE = "prod/prod-text.template.json"
ASSET = "prod/asset.1a/index.py"
MetaEdit = Callable[[dict[str, Any]], object]


@pytest.fixture
def release(tmp_path: Path) -> ReleaseArtefact:
    return write_release(tmp_path / "release")


def write_release(folder: Path, *, content: str = "{}", commit: str = "c" * 40) -> ReleaseArtefact:
    for name in (TEMPLATE, ASSET, "dev/dev-text.template.json"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return ReleaseArtefact.of_folder(folder, tree="t" * 40, commit=commit)


def test_written_release_can_be_read(release: ReleaseArtefact) -> None:
    assert ReleaseArtefact.load(release.folder, expected=release.digest) == release
    (release.folder / ASSET).chmod(0o777)
    with release.verified_copy("prod") as copy:
        files = {
            path.relative_to(copy).as_posix(): path for path in copy.rglob("*.*") if path.is_file()
        }
        assert files.keys() == {TEMPLATE, ASSET}
        assert {path.stat().st_mode & 0o777 for path in files.values()} == {0o644}
        files[TEMPLATE].write_text("a lock of the cdk CLI")
    assert (release.folder / TEMPLATE).read_text() == "{}"


def test_digest_covers_tree_and_files_and_not_the_commit(
    release: ReleaseArtefact, tmp_path: Path
) -> None:
    squashed = write_release(tmp_path / "squashed", commit="d" * 40)
    assert (squashed.digest, squashed.commit) == (release.digest, "d" * 40)
    assert write_release(tmp_path / "other", content="[]").digest != release.digest
    for name in (TEMPLATE, ASSET):
        (squashed.folder / name).rename(squashed.folder / "dev" / "new")
        assert (
            ReleaseArtefact.of_folder(squashed.folder, tree=release.tree, commit=None).digest
            != release.digest
        )


def replace(folder: Path, name: str, content: str) -> None:
    (folder / name).unlink()
    (folder / name).write_text(content)


def link(folder: Path) -> None:
    (folder / "elsewhere").write_text("{}")
    (folder / TEMPLATE).unlink()
    (folder / TEMPLATE).symlink_to(folder / "elsewhere")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda folder: replace(folder, TEMPLATE, '{"swapped": 1}'), "was changed after"),
        (lambda folder: replace(folder, ASSET, ""), "was changed after"),
        (lambda folder: (folder / TEMPLATE).unlink(), "cannot be read: No such file"),
        (link, "cannot be read"),
    ],
    ids=["swapped template", "truncated asset", "missing", "link"],
)
def test_changed_file_is_not_copied(
    release: ReleaseArtefact, change: Callable[[Path], object], reason: str
) -> None:
    change(release.folder)
    with (
        pytest.raises(InvalidRelease, match=reason),
        ReleaseArtefact.load(release.folder, expected=release.digest).verified_copy("prod"),
    ):
        pass


def test_release_that_was_changed_and_signed_again_is_refused(release: ReleaseArtefact) -> None:
    replace(release.folder, TEMPLATE, '{"swapped": 1}')
    ReleaseArtefact.of_folder(release.folder, tree=release.tree, commit=release.commit)
    for expected in (release.digest, ""):  # a build job that failed has an empty output
        with pytest.raises(InvalidRelease, match=f"{expected} is expected: it is another"):
            ReleaseArtefact.load(release.folder, expected=expected)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda content: content.update(version=2), "has version 2, and this code reads 1"),
        (lambda content: content.pop("tree"), "is not the description of a release"),
        (lambda content: content["files"].update({"../evil": "0"}), "not a path in the release"),
        (lambda content: content["files"].update({"/etc/passwd": "0"}), "not a path in the"),
        (lambda content: content["files"].update({"prod//a": "0"}), "not a path in the release"),
    ],
    ids=["newer version", "no tree", "parent folder", "absolute path", "not normal"],
)
def test_invalid_description_is_refused(
    release: ReleaseArtefact, edit: MetaEdit, reason: str
) -> None:
    content = json.loads((release.folder / FILE).read_text())
    edit(content)
    (release.folder / FILE).write_text(json.dumps(content))
    with pytest.raises(InvalidRelease, match=reason):
        ReleaseArtefact.load(release.folder)


def test_folder_without_a_release(tmp_path: Path) -> None:
    with pytest.raises(InvalidRelease, match="build a release there"):
        ReleaseArtefact.load(tmp_path)
    (tmp_path / FILE).write_text("{")
    with pytest.raises(InvalidRelease, match="is not JSON"):
        ReleaseArtefact.load(tmp_path)
