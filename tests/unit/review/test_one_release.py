"""The attack on two syntheses: an app that writes another template when it is deployed.

The audit of commit 6dcb98ed tested the name of the delivery's folder, and added an administrator:
the review said "no change to any deployed resource".
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from delivery import deliver as delivering
from delivery.deploy import StageDeployment
from release import checkout as checkouts
from release.artefact import ReleaseArtefact
from release.build import build_release
from release.checkout import GitCheckout
from tests.tritonsm import tritonsm
from tests.unit.conftest import commit
from tests.unit.review.conftest import APP, write_file

SWITCHES = {
    "folder": "'delivery-' in str(out)",
    "time": "time.time() > 4e9",
    "user": "getpass.getuser() == 'deployer'",
    "environment": "'TRITON_DEPLOY' in os.environ",
    "credentials": "'AWS_ACCESS_KEY_ID' in os.environ",
    "host name": "socket.gethostname() == 'deployer'",
}
ADMIN = """
    if SWITCH:
        path = next(out.glob("*.template.json"))
        template = json.loads(path.read_text())
        template["Resources"]["Admin"] = {"Type": "AWS::IAM::User", "Properties": {}}
        path.write_text(json.dumps(template))
    stacks ="""
HOSTILE_APP = APP.replace("import json,", "import getpass, os, socket, time, json,").replace(
    "\n    stacks =", ADMIN.replace("SWITCH", " or ".join(SWITCHES.values()))
)


@pytest.fixture
def hostile_clone(clone: GitCheckout) -> GitCheckout:
    write_file(clone, "app.py", HOSTILE_APP)
    commit(clone)
    return clone


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The files that a delivery gives to `cdk deploy`; AWS answers nothing of interest."""
    files: dict[str, bytes] = {}

    @contextmanager
    def record(*_: Any, **__: Any) -> Iterator[None]:
        yield None

    def deploy(deployment: StageDeployment) -> None:
        folder = deployment.assembly.folder
        for path in folder.rglob("*.*"):
            files[f"prod/{path.relative_to(folder)}"] = path.read_bytes()

    history = SimpleNamespace(
        record=record,
        refuse_in_progress=lambda *_, **__: None,
        refuse_superseded=lambda _: None,
    )
    monkeypatch.setattr(delivering, "stage_history", lambda *_: history)
    monkeypatch.setattr(delivering, "deploy", deploy)
    monkeypatch.setattr(StageDeployment, "wait_for_operations", lambda _: None)
    for step in ("run_preflight", "_refuse_deploys_by_hand", "restore_catalog_before_deploy"):
        monkeypatch.setattr(delivering, step, lambda *_, **__: None)
    for step in ("build_missing_archives", "_save", "verify"):
        monkeypatch.setattr(delivering, step, lambda *_: [])
    return files


def test_reviewed_release_is_deployed_byte_for_byte(
    hostile_clone: GitCheckout,
    deployed: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release = build_release(hostile_clone, tmp_path / "reviewed")
    assert tritonsm(["review", "--base", "main", "--release", str(release.folder)]) == 0
    reviewed = {name: release.read(name) for name in release.part("prod")}

    # Where it is delivered, everything is different, and the app would take its chance.
    for name in ("AWS_ACCESS_KEY_ID", "TRITON_DEPLOY", "USER"):
        monkeypatch.setenv(name, "deployer")
    monkeypatch.setattr(socket, "gethostname", lambda: "deployer")
    monkeypatch.chdir(tmp_path)  # neither a clone nor the app

    def run_no_app(*_: Any, **__: Any) -> None:
        raise AssertionError("a delivery runs the app")

    monkeypatch.setattr(checkouts, "run_app", run_no_app)
    monkeypatch.setattr(os, "fork", run_no_app)
    delivered = ReleaseArtefact.load(release.folder, expected=release.digest)
    delivering.deliver(delivered, "prod", from_stage=None)
    assert deployed == reviewed
    assert b"Admin" not in b"".join(deployed.values())


@pytest.mark.parametrize("folder", ["delivery-1", "other"])
def test_second_build_that_differs_is_another_release(
    hostile_clone: GitCheckout, tmp_path: Path, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A build of main is compared with the digest of its own job, and reviewed again."""
    reviewed = build_release(hostile_clone, tmp_path / "reviewed")
    built_again = build_release(hostile_clone, tmp_path / folder)
    is_hostile = folder.startswith("delivery-")
    assert (built_again.digest != reviewed.digest) is is_hostile
    arguments = ["deliver", "prod", "--release", str(built_again.folder), "--digest"]
    if is_hostile:
        assert tritonsm([*arguments, reviewed.digest]) == 1
        assert "is expected: it is another release" in capsys.readouterr().err
        code = tritonsm(["review", "--base", "main", "--release", str(built_again.folder)])
        report = json.loads((hostile_clone.root / "review.out" / "review.json").read_text())
        assert (code, "AWS::IAM::User" in json.dumps(report)) == (3, True)
        assert "no change to any deployed resource" not in report["summary"]
