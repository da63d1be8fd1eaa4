"""Tests of `tritonsm history`."""

from typing import Any

import boto3
import pytest

from cli import history
from cli.__main__ import main
from plan import stage_record
from plan.stage_record import Event
from tests.unit.test_repository import ROOT

CALLER = "arn:aws:sts::123456789012:assumed-role/prod-delivery-Deploy/GitHubActions"
START = "2026-11-22T03:00:00.000+00:00"


def event(action: str, versions: dict[str, str], **fields: Any) -> Event:
    """Return an event of the stage prod."""
    return Event(stage="prod", action=action, who=CALLER, versions=versions, begun=START, **fields)


def test_table_has_caller_and_action_and_reason(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = {f"text/model-{number}": "0123456789ab" for number in range(5)}
    delivery = event("deliver", versions, commit="a" * 40, release="d" * 64)
    rollback = event("rollback", {"text/a": "1"}).end("done")
    events = [rollback, delivery.end("wrong", "Y differs\nand more"), delivery]
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(stage_record, "read", lambda *_, latest: events[:latest])
    monkeypatch.setattr(history, "model_bucket", lambda _, stage: f"bucket-of-{stage}")
    monkeypatch.setattr(boto3.Session, "client", lambda *_: None)
    monkeypatch.setenv("COLUMNS", "240")
    assert main(["history", "prod", "--last", "2"]) == 0
    _, rolled_back, faulty, reason = capsys.readouterr().out.splitlines()
    assert rolled_back.split() == [
        *("2026-11-22", "03:00:00", "rollback", "done"),
        *("assumed-role/prod-delivery-Deploy/GitHubActions", "text/a", "1"),
    ]
    assert "wrong" in faulty
    shown = ", ".join(f"text/model-{number} 0123456789ab" for number in range(3))
    assert faulty.rstrip().endswith(f"dddddddddddd aaaaaaaaaaaa: {shown}, and 2 more")
    assert reason.strip() == "Y differs"
