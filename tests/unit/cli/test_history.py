"""Tests of `tritonsm history`."""

from pathlib import Path

import boto3
import pytest

from cli import history
from cli.__main__ import main
from plan import stage_record
from plan.stage_record import Event

CALLER = "arn:aws:sts::123456789012:assumed-role/prod-delivery-Deploy/GitHubActions"
VERSIONS = {f"text/model-{number}": "0123456789ab" for number in range(5)}
START = "2026-11-22T03:00:00.000+00:00"
COMMIT = "a" * 40


@pytest.fixture
def requested_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int | None]:
    """Fake a stage with a delivery of wrong answers and a rollback.

    Return the numbers of events that the command requests.
    """
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "prod.yaml").write_text("region: us-east-1\n")
    monkeypatch.chdir(tmp_path)
    faulty = Event(
        stage="prod",
        action="deliver",
        who=CALLER,
        versions=VERSIONS,
        commit=COMMIT,
        begun=START,
        release="d" * 64,
    ).end("wrong", "Y differs\nand more")
    rolled_back = Event(
        stage="prod", action="rollback", who=CALLER, versions={"text/a": "1"}, begun=START
    ).end("done")
    requested: list[int | None] = []

    def read(s3: object, bucket: str, *, latest: int | None) -> list[Event]:
        requested.append(latest)
        return [rolled_back, faulty]

    monkeypatch.setattr(stage_record, "read", read)
    monkeypatch.setattr(history, "model_bucket", lambda _, stage: f"bucket-of-{stage}")
    monkeypatch.setattr(boto3.Session, "client", lambda *_: None)
    return requested


def test_table_has_caller_and_action_and_reason(
    requested_counts: list[int | None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "240")
    assert main(["history", "prod", "--last", "2"]) == 0
    assert requested_counts == [2]
    _, rolled_back, faulty, reason = capsys.readouterr().out.splitlines()
    assert rolled_back.split() == [
        *("2026-11-22", "03:00:00", "rollback", "done"),
        *("assumed-role/prod-delivery-Deploy/GitHubActions", "text/a", "1"),
    ]
    assert "wrong" in faulty
    assert "dddddddddddd aaaaaaaaaaaa: text/model-0 0123456789ab, " in faulty
    assert faulty.rstrip().endswith("and 2 more")
    assert reason.strip() == "Y differs"
