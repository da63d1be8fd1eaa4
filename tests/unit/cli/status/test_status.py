"""Tests of the command `tritonsm status` and its tables."""

import argparse
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from cli import status
from cli.status.report import Alarm, EndpointStatus, Report, SuspendedScaling, VariantStatus
from delivery.drift import LiveDifference
from delivery.state import GONE_RUNBOOK
from tests.unit.test_repository import ROOT

NOW = datetime(2026, 11, 22, 10, 6, tzinfo=UTC)


def test_all_problems_of_a_stage_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = Report(
        endpoints=[
            EndpointStatus(
                "dev-text", "Failed", "No space.", [VariantStatus("AllTraffic", 1.0, 1, 2)]
            ),
            EndpointStatus(
                "dev-ab", "InService", None, [VariantStatus(name, 2.0, 1, 1) for name in "AB"]
            ),
        ],
        alarms=[
            Alarm("dev-1", "ALARM", NOW, "critical: share of 5xx answers of dev-text", "Crossed."),
            Alarm("dev-2", "ALARM", NOW, "", "Crossed \x1b[2J."),
        ],
        suspended_scaling=[
            SuspendedScaling("dev-text", "AllTraffic", ["scale-out", "schedules"]),
            SuspendedScaling("dev-night-minilm", None, ["scale-in"]),
        ],
        differences=[LiveDifference("dev-text", "the stack was deleted", "make deliver STAGE=dev")],
        denied=["models: no permission (dynamodb:Scan)"],
    )
    calls: list[tuple[Any, ...]] = []

    def read_report(session: Any, stage: str | None, stages: list[str]) -> Report:
        calls.append((session.region_name, stage))
        return report

    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(status, "read_report", read_report)
    assert status.run(argparse.Namespace(stage="prod", local=False, json=False)) == 0
    assert calls == [("us-east-1", "prod")]
    output = capsys.readouterr().out
    assert "dev-text Failed: No space." in output
    assert "dev-ab    InService  A           2       1/1" in output
    assert "dev-text AllTraffic: scaling is suspended: scale-out, schedules\n" in output
    assert "dev-night-minilm: scaling is suspended: scale-in\n" in output
    assert "dev-text: the stack was deleted\n  make deliver STAGE=dev" in output
    assert "critical: share of 5xx answers of dev-text" in output
    assert "dev-2: Crossed \\u001b[2J." in output
    assert "not shown: models: no permission" in output


@pytest.mark.parametrize(
    ("command", "local"),
    [
        ("aws logs x && aws logs y", 'eval "$(tritonsm env)" && aws logs x && aws logs y'),
        (GONE_RUNBOOK, GONE_RUNBOOK),
    ],
)
def test_commands_of_a_local_stage_call_the_local_sagemaker(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    local: str,
) -> None:
    """Otherwise they would change the stage on AWS that has the same name."""
    report = Report([], differences=[LiveDifference("dev-text", "was deleted", command)])
    monkeypatch.setattr(status, "read_report", lambda *_: report)
    monkeypatch.chdir(ROOT)
    assert status.run(argparse.Namespace(stage="dev", local=True, json=True)) == 0
    (difference,) = json.loads(capsys.readouterr().out)["differences"]
    assert difference["command"] == local
