from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from release.checkouts import Clone
from release.delivery import delivering
from release.delivery.errors import DeliveredWrong, NotDelivered
from release.preflight import capacity_errors
from release.tree import CheckoutError
from stage_record import Delivery, DeliveryOutcome
from tests.tritonsm import tritonsm


class Kept:
    """A history that keeps what has begun."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def target(self, _: str | None) -> Delivery:
        return Delivery("a" * 40, "then", DeliveryOutcome.DELIVERED)

    def live(self) -> None: ...

    def refuse_in_progress(self, *_: Any, **__: Any) -> None: ...

    def begin(self, commit: str, **_: Any) -> None:
        self.calls.append(commit)

    def refuse_superseded(self) -> None:
        self.calls.append("refuse_superseded")


def _raises(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any) -> None:
        raise error

    return fail


def test_what_has_begun_meanwhile_is_looked_at_again_between_the_build_and_the_deploy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two deliveries, the one whose build took longer undid the other."""
    history: Any = Kept()
    for name in ("build", "deploy", "verify"):
        monkeypatch.setattr(delivering, name, lambda *_, name=name: history.calls.append(name))
    delivering._put_in_place(None, history, SimpleNamespace(models=Path()))  # type: ignore[arg-type]
    assert history.calls == ["build", "refuse_superseded", "deploy", "verify"]


@pytest.mark.parametrize("step", ["deploy", "verify"])
def test_an_endpoint_without_capacity_is_reported_with_the_line_to_write(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str
) -> None:
    for name in ("build", "deploy", "verify"):
        monkeypatch.setattr(delivering, name, lambda *_: None)
    monkeypatch.setattr(delivering, step, _raises(DeliveredWrong("prod-text: no capacity")))
    monkeypatch.setattr(capacity_errors, "advice", lambda message, *_: [f"fix of {message}"])
    deployment: Any = SimpleNamespace(assembly=SimpleNamespace(folder=tmp_path), session=None)
    history: Any = Kept()
    tree: Any = SimpleNamespace(models=Path())
    with pytest.raises(DeliveredWrong, match="fix of prod-text: no capacity"):
        delivering._put_in_place(deployment, history, tree)


@pytest.mark.parametrize(("stage", "from_stage"), [("pord", None), ("prod", "pord")])
def test_a_stage_that_is_not_there_is_said_before_what_is_not_committed(
    stage: str, from_stage: str | None, tmp_path: Path
) -> None:
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages/prod.yaml").write_text("region: us-east-1\n")
    with pytest.raises(CheckoutError, match=r"no stage 'pord': did you mean prod\?"):
        delivering.deliver(Clone(tmp_path), stage, from_stage=from_stage)


@pytest.mark.parametrize(
    ("options", "reason"), [((), "would revert it"), (("--allow-older",), "no synthesis")]
)
def test_a_commit_that_would_undo_the_live_one_is_delivered_on_request_alone(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    reason: str,
) -> None:
    monkeypatch.setattr(Clone, "here", classmethod(lambda cls: cls(tmp_path)))
    monkeypatch.setattr(Clone, "stage", lambda *_: None)
    monkeypatch.setattr(Clone, "committed", lambda _: "a" * 40)
    monkeypatch.setattr(delivering, "_history", lambda *_: Kept())
    monkeypatch.setattr(delivering, "refuse_older", _raises(NotDelivered("would revert it")))
    monkeypatch.setattr(delivering, "synthesised", _raises(NotDelivered("no synthesis")))
    assert tritonsm(["deliver", "prod", *options]) == 1
    assert reason in capsys.readouterr().err
