from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from release.checkouts import Clone
from release.delivery import delivering
from release.delivery.__main__ import main
from release.delivery.deployment import Deployment
from release.delivery.errors import DeliveredWrong, NotDelivered, Unfinished
from release.delivery.history import History
from release.tree import CheckoutError
from stage_record import Delivery, Outcome


class Kept:
    """A history that keeps what it is told."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.outcomes: list[Outcome] = []

    def target(self, _: str | None) -> Delivery:
        return Delivery("a" * 40, "then", Outcome.DELIVERED)

    def begin(self, commit: str, **_: Any) -> None:
        self.begun.append(commit)

    def end(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


class Expired:
    """A history that can no longer be written."""

    name = "/triton/prod/delivered"

    def end(self, outcome: Outcome) -> None:
        error: Any = {"Error": {"Code": "ExpiredToken", "Message": str(outcome)}}
        raise ClientError(error, "PutParameter")


def _raises(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any) -> None:
        raise error

    return fail


def test_a_delivery_that_went_well_is_remembered_as_one_to_roll_back_to() -> None:
    history = Kept()
    delivering._remembered(cast(History, history), lambda: None)
    assert history.outcomes == [Outcome.DELIVERED]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (NotDelivered("the stack failed"), Outcome.FAILED),
        (DeliveredWrong("Y differs"), Outcome.WRONG),
    ],
)
def test_a_delivery_that_failed_is_remembered_as_one_that_failed(
    error: Exception, outcome: Outcome
) -> None:
    history = Kept()
    with pytest.raises(type(error)):
        delivering._remembered(cast(History, history), _raises(error))
    assert history.outcomes == [outcome]


@pytest.mark.parametrize(
    ("error", "said"),
    [(Unfinished("goes on"), "goes on"), (KeyboardInterrupt(), "interrupted")],
    ids=["unfinished", "interrupted"],
)
def test_what_goes_on_at_aws_is_remembered_as_begun(error: BaseException, said: str) -> None:
    history = Kept()
    with pytest.raises(Unfinished, match=f"^{said}$"):
        delivering._remembered(cast(History, history), _raises(error))
    assert history.outcomes == []


def test_what_cannot_be_remembered_does_not_change_how_it_ended(
    capsys: pytest.CaptureFixture[str],
) -> None:
    history = cast(History, Expired())
    with pytest.raises(DeliveredWrong, match="Y differs"):
        delivering._remembered(history, _raises(DeliveredWrong("Y differs")))
    delivering._remembered(history, lambda: None)
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 2
    assert all("still says that this delivery is in progress" in line for line in said)


@pytest.mark.parametrize(("stage", "from_stage"), [("pord", None), ("prod", "pord")])
def test_a_stage_that_is_not_there_is_said_before_what_is_not_committed(
    stage: str, from_stage: str | None, tmp_path: Path
) -> None:
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages/prod.yaml").write_text("region: us-east-1\n")
    with pytest.raises(CheckoutError, match=r"no stage 'pord': did you mean prod\?"):
        delivering.deliver(Clone(tmp_path), stage, from_stage=from_stage)


def test_a_rollback_that_cloudformation_would_refuse_is_neither_begun_nor_remembered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(_: Deployment) -> None:
        raise NotDelivered("roll forward")

    @contextmanager
    def given(*_: Any) -> Iterator[Any]:
        yield SimpleNamespace(templates={}, models=tmp_path)

    history = Kept()
    monkeypatch.setattr(delivering, "_history", lambda *_: history)
    monkeypatch.setattr(delivering, "_session", lambda *_: None)
    monkeypatch.setattr(delivering, "synthesised", given)
    monkeypatch.setattr(Clone, "checked_out", given)
    monkeypatch.setattr(delivering, "refuse_lost_exports", refuse)
    with pytest.raises(NotDelivered, match="roll forward"):
        delivering.roll_back(Clone(tmp_path), "prod", to=None)
    assert (history.begun, history.outcomes) == ([], [])


@pytest.mark.parametrize(
    ("options", "reason"), [((), "would undo it"), (("--allow-older",), "no synthesis")]
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
    monkeypatch.setattr(delivering, "refuse_older", _raises(NotDelivered("would undo it")))
    monkeypatch.setattr(delivering, "synthesised", _raises(NotDelivered("no synthesis")))
    assert main(["deliver", "--stage", "prod", *options]) == 1
    assert reason in capsys.readouterr().err
