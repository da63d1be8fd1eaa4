"""The command `tritonsm status`."""

import argparse
import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest

from cli import status
from cli.errors import CommandError
from cli.status.local_state import LocalState
from cli.status.report import Endpoint, Load, Model, Report, Variant
from local_sagemaker import LOOPBACK, Folder, LocalSageMakerError, Running
from tests.unit.test_repository import ROOT

NOW = datetime(2026, 11, 22, 10, 6, tzinfo=UTC)
VARIANT = Variant("AllTraffic", 1.0, 1, 1, None, Load(calls_a_minute=6.0))
REPORT = Report(
    NOW, NOW, [Endpoint("dev-text", "InService", None, [VARIANT])], [], [], [], not_asked=[]
)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What reports were asked of: a region, a scope and a local state."""
    seen: list[tuple[Any, ...]] = []

    def report(session: Any, scope: Any, *, now: datetime, local: Any) -> Report:
        seen.append((session.region_name, scope.stage, local))
        return REPORT

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(status, "report", report)
    return seen


def _run(stage: str | None = None, **given: bool) -> int:
    options = {"local": False, "json": False, "watch": False, **given}
    return status.run(argparse.Namespace(stage=stage, **options))


def test_a_stage_is_asked_in_its_region(
    calls: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("prod") == 0
    assert calls == [("us-east-1", "prod", None)]
    assert "dev-text  InService" in capsys.readouterr().out


def test_lines_are_whole_in_a_pipe(
    calls: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rich takes a pipe for 80 columns, in which no path could be searched for."""
    monkeypatch.delenv("COLUMNS", raising=False)
    archive = f"minilm-{'0' * 100}.tar.gz"
    models = [Model("dev-text", "minilm", "1", archive, None)]
    monkeypatch.setattr(status, "report", lambda *_, **__: replace(REPORT, models=models))
    assert _run("prod") == 0
    assert archive in capsys.readouterr().out


def test_json_has_every_member_and_times_with_their_zone(
    calls: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("prod", json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == [
        *(
            "since",
            "until",
            "endpoints",
            "models",
            "alarms",
            "activities",
            "not_asked",
            "differences",
            "requests",
        )
    ]
    assert told["until"] == "2026-11-22T10:06:00+00:00"
    assert told["endpoints"][0]["variants"][0]["load"]["calls_a_minute"] == 6.0


def test_without_a_stage_it_is_the_local_sagemaker(
    calls: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    monkeypatch.setattr(Folder, "default", lambda: Folder(tmp_path))
    with pytest.raises(LocalSageMakerError, match="no local SageMaker is running"):
        _run()
    monkeypatch.setattr("os.environ", {})
    monkeypatch.setattr(Running, "is_alive", lambda _: True)
    monkeypatch.setattr(LocalState, "ask", lambda url: LocalState(60, {url: {}}))
    Folder(tmp_path).remember(Running(pid=1, port=4566, python="3.10"))
    assert _run() == 0
    assert calls == [("us-east-1", None, LocalState(60, {"http://127.0.0.1:4566": {}}))]
    assert capsys.readouterr().out.splitlines()[0] == (
        f"local SageMaker at http://127.0.0.1:4566, log {tmp_path}/emulator.log"
    )


def test_nothing_is_drawn_again_and_again_where_there_is_no_terminal(calls: list[Any]) -> None:
    with pytest.raises(CommandError, match="--watch draws on a terminal"):
        _run("prod", watch=True)
    assert calls == []


def test_a_local_sagemaker_that_says_nothing_of_itself_is_one_without_a_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter(
        [io.BytesIO(b'{"speed": 60.0, "endpoints": [{"name": "a"}]}'), io.BytesIO(b"<Error/>")]
    )

    def answer(url: str, timeout: float) -> Any:
        assert url == "http://127.0.0.1:1/_local_sagemaker/state"
        try:
            return next(answers)
        except StopIteration:
            raise URLError("refused") from None

    monkeypatch.setattr(LOOPBACK, "open", answer)
    url = "http://127.0.0.1:1"
    assert LocalState.ask(url) == LocalState(60.0, {"a": {"name": "a"}})
    assert LocalState.ask(url) == LocalState.ask(url) == LocalState()
