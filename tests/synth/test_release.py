"""Builds of one commit: with every switch that could make them differ, all are byte-identical."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from release.artefact import ReleaseArtefact
from release.build import build_release
from release.checkout import Checkout, GitCheckout
from tests.processes import run_program
from tests.unit.conftest import commit

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> GitCheckout:
    """A clone of the tracked files as they are, with one commit."""
    clone = GitCheckout(tmp_path_factory.mktemp("clone") / "a folder")
    tracked = Checkout(ROOT).files("--others", "--exclude-standard")
    for name in tracked:
        if name.startswith(("tests/", "local_sagemaker/", "docs/")):
            continue
        path = clone.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, path, follow_symlinks=False)
    clone.git("init", "--quiet")
    commit(clone)
    return clone


@pytest.fixture(scope="module")
def release(clone: GitCheckout) -> ReleaseArtefact:
    return build_release(clone, clone.root.parent / "first")


def test_every_stage_is_in_the_release(clone: GitCheckout, release: ReleaseArtefact) -> None:
    assert {name.partition("/")[0] for name in release.files} == {*clone.stages()}
    assert (release.tree, release.commit) == (clone.git("rev-parse", "HEAD^{tree}"), clone.head())
    assert "prod/models/minilm/tests/golden.json" in release.files


def test_builds_are_byte_identical(
    clone: GitCheckout, release: ReleaseArtefact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another folder, time, time zone, language, temporary folder, umask, host, user; no network.

    `unshare` makes a host name and a network, without interfaces, of the process's own, and another
    user of it; a preloaded library would be needed for another clock, so the time is the present.
    """
    copy = GitCheckout(tmp_path / "b")
    clone.git("clone", "--quiet", "--no-local", str(clone.root), str(copy.root))
    for path in copy.root.rglob("*"):
        if ".git" not in path.parts:
            os.utime(path, (946684800, 946684800))
    for name, value in {
        "TZ": "Pacific/Kiritimati",
        "LANG": "tr_TR.UTF-8",
        "LC_ALL": "C",
        "USER": "somebody",
        "CODEBUILD_BUILD_ID": "1",
        "GITHUB_ACTIONS": "true",
        "CI": "1",
        "AWS_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "AKIA",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "CDK_DEFAULT_ACCOUNT": "123456789012",
        "CDK_DEFAULT_REGION": "eu-west-1",
        "TMPDIR": str(tmp_path),
        "PYTHONHASHSEED": "7",
    }.items():
        monkeypatch.setenv(name, value)
    unshare = ["unshare", "--user", "--map-user=1234", "--net", "--uts", "--"]
    if subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode:
        unshare = []  # the other switches are set nevertheless
    program = "import os, sys; os.umask(0o077); from release.build import *; import pathlib; "
    program += "build_release(Checkout(pathlib.Path(sys.argv[1])), pathlib.Path(sys.argv[2]))"
    run_program(
        *unshare,
        sys.executable,
        "-c",
        program,
        str(copy.root),
        str(tmp_path / "second"),
        cwd=ROOT,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )
    second = ReleaseArtefact.load(tmp_path / "second")
    differing = {
        name
        for name in release.files.keys() | second.files.keys()
        if release.files.get(name) != second.files.get(name)
    }
    assert differing == set()
    assert second.digest == release.digest
    with second.verified_copy(*clone.stages()):
        pass  # each file has its digest
    if not unshare:
        pytest.skip("no user namespaces here: host, user and network were those of the test")
