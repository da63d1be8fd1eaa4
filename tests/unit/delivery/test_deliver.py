"""Tests of the steps of a delivery."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from delivery import assembly, deliver
from delivery.errors import FaultyDeployment, NotDelivered
from release.artefact import ReleaseArtefact
from release.checkout import Checkout, NotSynthesised
from tests.unit.release.test_assemblies import INVALID_ASSEMBLIES, write_assembly


class FakeHistory:
    """A history that records its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def refuse_in_progress(self, *_: Any, **__: Any) -> None: ...

    def refuse_superseded(self, _: str) -> None:
        self.calls.append("refuse_superseded")


def test_newer_deliveries_are_checked_between_build_and_deploy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A delivery with a long build must not undo a newer one."""
    history: Any = FakeHistory()
    for name in ("build_missing_archives", "deploy", "_save", "verify"):
        monkeypatch.setattr(deliver, name, lambda *_, name=name: history.calls.append(name))
    deployment: Any = SimpleNamespace(assembly=SimpleNamespace(tree=Checkout(Path())))
    deliver._build_and_deploy(deployment, history, ReleaseArtefact(Path(), {}))
    steps = ["build_missing_archives", "refuse_superseded", "deploy", "_save", "verify"]
    assert history.calls == steps


@pytest.fixture
def release(tmp_path: Path) -> ReleaseArtefact:
    """A release with the stages prod, and broken, which could not be synthesised."""
    write_assembly(tmp_path / "release" / "prod", "prod-text")
    (tmp_path / "release" / "broken.error").write_text("stages/broken.yaml:3: no such model")
    return ReleaseArtefact.of_folder(tmp_path / "release", tree=None, commit=None)


@pytest.mark.parametrize(
    ("stage", "reason"),
    [
        ("pord", "has no stage 'pord': its stages are prod"),
        ("prod", "built from uncommitted changes"),
        ("broken", "no such model"),
    ],
)
def test_release_that_cannot_be_delivered(
    release: ReleaseArtefact, stage: str, reason: str
) -> None:
    with pytest.raises((NotDelivered, NotSynthesised), match=reason):
        deliver.deliver(release, stage, from_stage=None)


def test_delivery_in_progress_is_not_called_live(monkeypatch: pytest.MonkeyPatch) -> None:
    """The live delivery is the running one, which serves nothing yet: no rollback is advised."""
    tree = Mock(**{"stage.return_value.region": "us-east-1"})
    opened = nullcontext(SimpleNamespace(tree=tree))
    running = Mock(**{"refuse_in_progress.side_effect": NotDelivered("is in progress")})
    running.deliveries().live.return_value = Mock(release="b" * 64, commit="b" * 40)
    monkeypatch.setattr(deliver, "open_assembly", lambda *_: opened)
    monkeypatch.setattr("plan.golden.check_golden_files", lambda _: None)
    monkeypatch.setattr(deliver, "stage_history", lambda *_: running)
    with pytest.raises(NotDelivered, match="is in progress"):
        deliver.deliver(ReleaseArtefact(Path(), {}, commit="c" * 40), "prod", from_stage=None)


@pytest.mark.parametrize("title", [title for title in INVALID_ASSEMBLIES if "link" not in title])
def test_assembly_that_no_review_compares_is_not_deployed(tmp_path: Path, title: str) -> None:
    """A release whose digest is right may still have an asset that a program makes, and so on."""
    folder = tmp_path / "release" / "prod"
    write_assembly(folder, "a")
    invalidate, reason = INVALID_ASSEMBLIES[title]
    invalidate(folder)
    release = ReleaseArtefact.of_folder(folder.parent, tree=None, commit="c" * 40)
    is_missing = not release.part("prod")
    with pytest.raises(
        (NotDelivered, NotSynthesised), match="has no stage" if is_missing else reason
    ):
        deliver.deliver(release, "prod", from_stage=None)


def test_stack_of_another_stage_is_not_deployed(tmp_path: Path) -> None:
    write_assembly(tmp_path / "dev", "prod-text")
    release = ReleaseArtefact.of_folder(tmp_path, tree=None, commit="c" * 40)
    with (
        pytest.raises(NotDelivered, match="prod-text is not a stack of dev"),
        assembly.open_assembly(release, "dev"),
    ):
        pass


@pytest.mark.parametrize("step", ["deploy", "verify"])
@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("InsufficientInstanceCapacity", "AWS has .*"),
        ("did not pass the ping health check.", ".* not within startup_timeout_minutes: .*"),
    ],
)
def test_failed_start_is_reported_with_the_fix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str, reason: str, advice: str
) -> None:
    for name in ("build_missing_archives", "deploy", "_save", "verify"):
        monkeypatch.setattr(deliver, name, lambda *_: None)

    monkeypatch.setattr(deliver, step, Mock(side_effect=FaultyDeployment(reason)))
    deployment: Any = SimpleNamespace(
        assembly=SimpleNamespace(stage="prod", tree=SimpleNamespace(models=tmp_path))
    )
    history: Any = FakeHistory()
    with pytest.raises(FaultyDeployment, match=rf"\n  {advice}\n  .*tritonsm report prod$"):
        deliver._build_and_deploy(deployment, history, ReleaseArtefact(Path(), {}))
