"""Tests of the command `tritonsm status` and its tables."""

import argparse
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from cli import status
from cli.status.report import Alarm, EndpointStatus, Report, VariantStatus
from delivery.drift import LiveDifference
from tests.unit.test_repository import ROOT

NOW = datetime(2026, 11, 22, 10, 6, tzinfo=UTC)
REPORT = Report(
    [EndpointStatus("dev-text", "InService", None, [VariantStatus("AllTraffic", 1.0, 1, 2)])]
)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Return a list to which every report adds its region and stage."""
    calls: list[tuple[Any, ...]] = []

    def read_report(session: Any, stage: str | None, stages: list[str]) -> Report:
        calls.append((session.region_name, stage))
        return REPORT

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(status, "read_report", read_report)
    return calls


def _run(stage: str | None = None, *, json: bool = False) -> int:
    return status.run(argparse.Namespace(stage=stage, local=False, json=json))


def _printed(monkeypatch: pytest.MonkeyPatch, capsys: Any, report: Report) -> str:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(status, "read_report", lambda *_: report)
    assert _run("prod") == 0
    output: str = capsys.readouterr().out
    return output


def test_stage_is_read_in_its_region(calls: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("prod") == 0
    assert calls == [("us-east-1", "prod")]
    assert capsys.readouterr().out.splitlines()[1].split() == [
        *("dev-text", "InService", "AllTraffic", "1/2")
    ]


def test_json_has_all_sections_and_times_with_zone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    alarm = Alarm("dev-a", "ALARM", NOW, "critical", "Because.")
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(status, "read_report", lambda *_: replace(REPORT, alarms=[alarm]))
    assert _run("prod", json=True) == 0
    report = json.loads(capsys.readouterr().out)
    assert list(report) == ["endpoints", "models", "components", "alarms", "differences", "denied"]
    assert report["alarms"][0]["since"] == "2026-11-22T10:06:00+00:00"


def test_all_problems_are_printed(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    report = Report(
        endpoints=[
            replace(REPORT.endpoints[0], status="Failed", reason="No space."),
            EndpointStatus(
                "dev-ab", "InService", None, [VariantStatus(name, 2.0, 1, 1) for name in "AB"]
            ),
        ],
        alarms=[
            Alarm("dev-1", "ALARM", NOW, "critical: share of 5xx answers of dev-text", "Crossed."),
            Alarm("dev-2", "ALARM", NOW, "", "Crossed \x1b[2J."),
        ],
        differences=[LiveDifference("dev-text", "the stack was deleted", "make deliver STAGE=dev")],
        denied=["models: no permission (dynamodb:Scan)"],
    )
    output = _printed(monkeypatch, capsys, report)
    assert "dev-text Failed: No space." in output
    assert "dev-ab    InService  A           2       1/1" in output
    assert "dev-text: the stack was deleted\n  make deliver STAGE=dev" in output
    assert "critical: share of 5xx answers of dev-text" in output
    assert "dev-2: Crossed \\u001b[2J." in output
    assert "not shown: models: no permission" in output
