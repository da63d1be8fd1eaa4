"""A review with real processes, as in the workflow."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from release.build import build_release
from release.checkout import Checkout, GitCheckout
from review.command import INSTALLED_FOLDERS
from tests.synth.review.conftest import ROOT, copy_tree
from tests.unit.conftest import commit

PRODUCTION = """\
production: true
notify: { email: [team@example.com] }
"""
STAGE = f"""\
region: us-east-1
release: "25.09"
{PRODUCTION}\
endpoints:
  text:
    models: [minilm]
    instance_type: ml.g5.xlarge
    instance_count: 2
"""


@pytest.fixture
def clone(tmp_path: Path) -> GitCheckout:
    clone = GitCheckout(copy_tree(tmp_path / "clone"))
    for stage in clone.stages():
        (clone.root / "stages" / f"{stage}.yaml").unlink()
    (clone.root / "stages" / "live.yaml").write_text(STAGE)
    installed = "".join(f"/{name}\n" for name in INSTALLED_FOLDERS)  # links here, folders elsewhere
    (clone.root / ".gitignore").write_text((ROOT / ".gitignore").read_text() + installed)
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("release", "review"):
        shutil.copytree(ROOT / name, clone.root / name, ignore=ignored)
    (clone.root / ".github").mkdir()
    (clone.root / ".github" / "CODEOWNERS").write_text("* @acme/reviewers\n")
    clone.git("init", "--quiet", "--initial-branch=main")
    commit(clone)
    for name in INSTALLED_FOLDERS:
        (clone.root / name).symlink_to(ROOT / name)
    return clone


def run(tree: Checkout, *program: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", *program],
        cwd=tree.root,
        capture_output=True,
        text=True,
        check=False,
    )


def test_hostile_change_cannot_disable_the_review(clone: GitCheckout) -> None:
    one_instance = STAGE.replace(PRODUCTION, "").replace("count: 2", "count: 1")
    (clone.root / "stages" / "live.yaml").write_text(one_instance)
    broken = clone.root / "models" / "broken" / "broken" / "config.pbtxt"
    broken.parent.mkdir(parents=True)
    broken.write_text("backend: [")
    # Files with which a hostile change would disable the review, if it used them:
    for name, content in {
        "review/dangers/endpoints.py": "def low_availability(comparison): return ()\n",
        "review/judge.py": "raise SystemExit(0)\n",
        "model_build/__main__.py": "print([])\n",
        ".github/CODEOWNERS": "* @mallory\n",
    }.items():
        (clone.root / name).write_text(content)

    # As in the workflow: one job runs the change's code and writes files, which another job reads
    # with the base's code.
    assemblies = str(clone.root.parent / "assemblies")
    build_release(clone, Path(assemblies))
    out = clone.root.parent / "review.out"
    with clone.checked_out("main") as base:
        for name in INSTALLED_FOLDERS:
            (base.root / name).symlink_to(ROOT / name)
        arguments = ("--head", str(clone.root), "--assemblies", assemblies, "--output", str(out))
        finished = run(base, "review.judge", *arguments)

    assert finished.returncode == 3, finished.stderr
    assert "  live/low_availability/live-text.AllTraffic\n" in finished.stderr
    written = json.loads((out / "review.json").read_text())
    listed = "".join(written["code"])
    for path in ("review/dangers/endpoints.py", "review/judge.py", ".github/CODEOWNERS"):
        assert path in listed
    rules = {danger["subject"].rpartition(".")[0]: danger["rule"] for danger in written["dangers"]}
    assert rules["models/broken/broken/config.pbtxt"] == "unreadable_files"
