"""Tests of the delivery commands: exit codes and messages."""

import os
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError

from delivery import command
from delivery.errors import (
    ChangedByHand,
    FaultyDeployment,
    NotDelivered,
    RollbackFailed,
    Unfinished,
)
from delivery.verify import VerifiedStage
from plan.archives import ArchiveReplaced
from release.artefact import ReleaseArtefact
from release.checkout import GitCheckout
from tests.processes import output_of, run_main
from tests.runbook import script
from tests.tritonsm import tritonsm
from tests.unit.conftest import commit


@pytest.fixture(autouse=True)
def release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ReleaseArtefact:
    """A release in the default folder of the working directory, which has a stage."""
    monkeypatch.chdir(tmp_path)
    for folder in (command.RELEASE, Path("stages")):
        folder.mkdir()
    Path("stages/prod.yaml").write_text("region: us-east-1\n")
    return ReleaseArtefact.of_folder(command.RELEASE, tree=None, commit="c" * 40)


def test_delivery_without_some_models_has_exit_code_5(
    monkeypatch: pytest.MonkeyPatch, release: ReleaseArtefact
) -> None:
    verified = VerifiedStage([], ["text/a: version 2 could not be built: clients keep 1"])
    monkeypatch.setattr(command, "deliver", lambda *_, **__: verified)
    finished = run_main(tritonsm, "deliver", "prod", "--digest", release.digest, code=5)
    assert finished.stderr.startswith(
        "deployed, but not all models: text/a: version 2 could not be built: clients keep 1\n"
    )


def test_release_with_another_digest_is_not_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as an artefact that another job of the workflow has replaced."""
    monkeypatch.delattr(command, "deliver")
    finished = run_main(tritonsm, "deliver", "prod", "--digest", "f" * 64, code=1)
    assert f"and {'f' * 64} is expected: it is another release" in finished.stderr


def test_history_of_a_release_is_that_of_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest does not cover commits: a build could name the live one as its ancestor."""
    clone = GitCheckout(Path.cwd())
    clone.git("init", "--quiet")
    commit(clone)
    older = clone.head()
    Path("stages/prod.yaml").write_text("region: eu-central-1\n")
    commit(clone)
    tree = clone.git("rev-parse", "HEAD^{tree}")
    forged = ReleaseArtefact.of_folder(
        command.RELEASE, tree=tree, commit="c" * 40, ancestors=("f" * 40,)
    )
    delivered = list[ReleaseArtefact]()

    def deliver(release: ReleaseArtefact, _stage: str, **_: Any) -> VerifiedStage:
        delivered.append(release)
        return VerifiedStage([], [])

    monkeypatch.setattr(command, "deliver", deliver)
    options = ["deliver", "prod", "--digest", forged.digest, "--commit"]
    run_main(tritonsm, *options, clone.head())
    assert (delivered[0].commit, delivered[0].ancestors) == (clone.head(), (older,))
    finished = run_main(tritonsm, *options, older, code=1)
    assert f"commit {older} has the git tree " in finished.stderr
    run_main(tritonsm, *options, "f" * 40, code=1)
    assert len(delivered) == 1


EXPIRED: Any = {"Error": {"Code": "ExpiredTokenException", "Message": "expired"}}


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ArchiveReplaced("b", "a.tar.gz", "A-1", "B-1"), 1, "not delivered: s3://b/a.tar.gz has "),
        (NotDelivered("the build failed"), 1, "not delivered: the build failed\n"),
        (FaultyDeployment("Y is missing"), 2,
         "deployed, but faulty: Y is missing\n  Roll back: make rollback STAGE=prod\n"),
        (RollbackFailed("continue"), 2, "deployed, but faulty: continue\n"),
        (Unfinished("prod-text is updating"), 3,
         "unfinished: prod-text is updating\n  AWS finishes the operations in progress. Wait"),
        (ChangedByHand("tritonsm rollback m"), 4, "changed by hand: tritonsm rollback m\n"),
        (ClientError(EXPIRED, "GetParameter"), 1,
         "not delivered: the credentials have expired: get new ones (An error occurred"),
        (KeyboardInterrupt(), 130, "not delivered: interrupted before it changed anything\n"),
    ],
)  # fmt: skip
def test_each_error_has_its_exit_code_and_message(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    message: str,
) -> None:
    monkeypatch.setattr(command, "deliver", Mock(side_effect=error))
    assert tritonsm(["deliver", "prod"]) == code
    assert capsys.readouterr().err.startswith(message)


def test_runbook_of_an_unfinished_delivery_lists_builds_that_run(tmp_path: Path) -> None:
    """Of both projects of the stage; one that has never run is no argument of the last command."""
    (tmp_path / "aws").write_text(
        """#!/bin/sh
        case "$*" in
          "cloudformation describe-stack-resources --stack-name prod-models "*) echo A B;;
          *"--project-name A "*) echo A:1 A:2;;
          *"--project-name B "*) echo;;
          "codebuild batch-get-builds "*"'IN_PROGRESS'"*" --ids A:1 A:2") echo A:2;;
          *) echo "unexpected: $*";;
        esac"""
    )
    (tmp_path / "aws").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "STAGE": "prod"}
    listing = script("A delivery is unfinished")
    assert output_of("bash", "-c", listing, env=environment) == "A:2\n"
