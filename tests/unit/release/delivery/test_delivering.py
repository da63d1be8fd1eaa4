"""Tests of the steps of a delivery."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from release.checkouts import Clone
from release.delivery import delivering
from release.delivery.errors import FaultyDeployment, NotDelivered
from release.tree import CheckoutError
from tests.tritonsm import tritonsm


class FakeHistory:
    """A history that records its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def live_delivery(self) -> None: ...

    def refuse_in_progress(self, *_: Any, **__: Any) -> None: ...

    def refuse_superseded(self) -> None:
        self.calls.append("refuse_superseded")


def _raises(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any) -> None:
        raise error

    return fail


def test_newer_deliveries_are_checked_between_build_and_deploy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A delivery with a long build must not undo a newer one."""
    history: Any = FakeHistory()
    for name in ("build_missing_archives", "deploy", "verify"):
        monkeypatch.setattr(delivering, name, lambda *_, name=name: history.calls.append(name))
    delivering._build_and_deploy(None, history, SimpleNamespace(models=Path()))  # type: ignore[arg-type]
    assert history.calls == ["build_missing_archives", "refuse_superseded", "deploy", "verify"]


@pytest.mark.parametrize("step", ["deploy", "verify"])
def test_missing_capacity_is_reported_with_the_fix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str
) -> None:
    for name in ("build_missing_archives", "deploy", "verify"):
        monkeypatch.setattr(delivering, name, lambda *_: None)
    monkeypatch.setattr(delivering, step, _raises(FaultyDeployment("InsufficientInstanceCapacity")))
    deployment: Any = SimpleNamespace(assembly=SimpleNamespace(stage="prod"), session=None)
    history: Any = FakeHistory()
    tree: Any = SimpleNamespace(models=Path())
    with pytest.raises(FaultyDeployment, match=r"AWS has .*\n  .*tritonsm report prod$"):
        delivering._build_and_deploy(deployment, history, tree)


@pytest.mark.parametrize(("stage", "from_stage"), [("pord", None), ("prod", "pord")])
def test_unknown_stage_is_reported_before_uncommitted_changes(
    stage: str, from_stage: str | None, tmp_path: Path
) -> None:
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages/prod.yaml").write_text("region: us-east-1\n")
    with pytest.raises(CheckoutError, match=r"no stage 'pord': did you mean prod\?"):
        delivering.deliver(Clone(tmp_path), stage, from_stage=from_stage)


@pytest.mark.parametrize(
    ("options", "reason"), [((), "would revert it"), (("--allow-older",), "no synthesis")]
)
def test_older_commit_needs_allow_older(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    reason: str,
) -> None:
    monkeypatch.setattr(Clone, "of_working_directory", classmethod(lambda cls: cls(tmp_path)))
    monkeypatch.setattr(Clone, "stage", lambda *_: None)
    monkeypatch.setattr(Clone, "clean_head", lambda _: "a" * 40)
    monkeypatch.setattr(delivering, "_history", lambda *_: FakeHistory())
    monkeypatch.setattr(delivering, "refuse_older_commit", _raises(NotDelivered("would revert it")))
    monkeypatch.setattr(delivering, "synthesise_stage", _raises(NotDelivered("no synthesis")))
    assert tritonsm(["deliver", "prod", *options]) == 1
    assert reason in capsys.readouterr().err
