from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from release.checkouts import Clone
from release.delivery import delivering
from release.delivery.deployment import Deployment
from release.delivery.errors import NotDelivered
from release.tree import CheckoutError
from stage_record import Delivery, Outcome


class Kept:
    """A history that keeps what has begun."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def target(self, _: str | None) -> Delivery:
        return Delivery("a" * 40, "then", Outcome.DELIVERED)

    def refuse_in_progress(self, *_: Any, **__: Any) -> None: ...

    def begin(self, commit: str, **_: Any) -> None:
        self.calls.append(commit)

    def refuse_superseded(self) -> None:
        self.calls.append("refuse_superseded")


def test_what_has_begun_meanwhile_is_looked_at_again_between_the_build_and_the_deploy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two deliveries, the one whose build took longer undid the other."""
    history: Any = Kept()
    for name in ("build", "deploy", "verify"):
        monkeypatch.setattr(delivering, name, lambda *_, name=name: history.calls.append(name))
    delivering._put_in_place(None, history, SimpleNamespace(models=Path()))  # type: ignore[arg-type]
    assert history.calls == ["build", "refuse_superseded", "deploy", "verify"]


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
    assert history.calls == []
