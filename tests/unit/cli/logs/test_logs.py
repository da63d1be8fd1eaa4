"""The command `tritonsm logs`."""

import argparse
import io
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cli import logs
from cli.errors import CommandError
from cli.logs import shown
from cli.logs.lines import Line, line
from cli.logs.tail import Event
from cli.look import Parser
from local_sagemaker import Folder
from local_sagemaker.cloudwatch.log_events import matcher
from tests.unit.test_repository import ROOT

TRITON = 'I1122 07:22:55.355629 2 sagemaker_server.cc:241] "say \\"hello\\""'
OLDER = "E1122 07:22:55.355629 1 model_lifecycle.cc:839] failed to load 'a'"
EVENT = Event(1_790_000_000_123, "AllTraffic/i-0123456789abcdef0", TRITON)

Events = list[Event]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (TRITON, Line("info", 'say "hello"')),
        (OLDER, Line("error", "failed to load 'a'")),
        (OLDER.replace("E1122", "W1122"), Line("warning", "failed to load 'a'")),
        ("I1122 07:22:55.355629 2 server.cc:6] 42", Line("info", "42")),
        ("I1122 07:22:55.355629 2 server.cc:6] \n+--+\n", Line("info", "\n+--+\n")),
        ("| model | status |", Line("", "| model | status |")),
        ("In 1122 07:22", Line("", "In 1122 07:22")),
    ],
)
def test_what_triton_writes_before_a_message_is_its_level_alone(message: str, said: Line) -> None:
    assert line(message) == said


@pytest.mark.usefixtures("in_utc")
def test_events_have_time_instance_level_and_message(capsys: pytest.CaptureFixture[str]) -> None:
    build = Event(EVENT.time, "3f2a1b4c-0000", "[Container] ...")
    shown.as_text([EVENT, build], Console(force_terminal=False))
    day = datetime.fromtimestamp(EVENT.time / 1000, UTC)
    assert capsys.readouterr().out.splitlines() == [
        f'{day:%F %H:%M:%S} AllTraffic/i-01234 info say "hello"',
        f"{day:%F %H:%M:%S} 3f2a1b4 [Container] ...",
    ]


def test_on_a_terminal_long_lines_are_folded_beside_what_comes_before() -> None:
    console = Console(file=io.StringIO(), width=60, force_terminal=True, color_system=None)
    shown.as_text([EVENT._replace(message="[a]" + " word" * 20)], console)
    assert isinstance(console.file, io.StringIO)
    first, *rest = console.file.getvalue().splitlines()
    assert "[a] word" in first
    assert rest
    assert all(it.startswith(" " * first.index("[a]")) and len(it) <= 60 for it in rest)


def test_json_is_an_object_a_line_with_the_whole_message(capsys: Any) -> None:
    shown.as_json([EVENT, EVENT._replace(message="plain")])
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {
        "time": "2026-09-21T14:13:20.123+00:00",
        "stream": EVENT.stream,
        "level": "info",
        "message": TRITON,
    }
    assert second["level"] is None


class Tails:
    """Groups whose events a test has written: lists of what is last, and of what comes later."""

    def __init__(self) -> None:
        self.events: dict[str, list[Events]] = {}
        self.asked: list[tuple[Any, ...]] = []

    def __call__(self, _: Any, group: str, *, pattern: str) -> Any:
        def last(lines: int, since: datetime) -> Events:
            self.asked.append((group, pattern, lines, since))
            return self.events[group].pop(0)

        def later() -> Events:
            if not self.events[group]:
                raise KeyboardInterrupt
            return self.events[group].pop(0)

        return argparse.Namespace(last=last, later=later)


@pytest.fixture
def tails(monkeypatch: pytest.MonkeyPatch) -> Tails:
    made = Tails()
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(logs, "Tail", made)
    monkeypatch.setattr(logs.groups, "groups", lambda *_: list(made.events))
    monkeypatch.setattr(time, "sleep", lambda _: None)
    return made


def _run(*arguments: str) -> int:
    parser = Parser(prog="tritonsm")
    logs.add_to(parser.add_subparsers(parser_class=Parser))
    return logs.run(parser.parse_args(["logs", *arguments]))


def _event(text: str, time: int) -> Event:
    return Event(time, "a/i-1", text)


def _messages(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [json.loads(it)["message"] for it in capsys.readouterr().out.splitlines()]


def test_the_last_lines_of_all_groups_come_in_the_order_of_time(
    tails: Tails, capsys: pytest.CaptureFixture[str]
) -> None:
    tails.events = {"a": [[_event("1", 1), _event("3", 3)]], "b": [[_event("2", 2)]]}
    assert _run("prod-text", "--lines", "2", "--grep", "say", "--json") == 0
    assert _messages(capsys) == ["2", "3"]
    assert [it[:3] for it in tails.asked] == [("a", '"say"', 2), ("b", '"say"', 2)]


def test_errors_are_the_lines_that_triton_marks_so(tails: Tails) -> None:
    tails.events = {"a": [[_event(OLDER, 1)]]}
    assert _run("prod-text", "--errors") == 0
    matches = matcher(tails.asked[0][1], lambda _: pytest.fail("no regular expression"))
    assert [it for it in (TRITON, OLDER, "ERROR 1122") if matches(it)] == [OLDER]


def test_following_goes_on_until_it_is_interrupted(
    tails: Tails, capsys: pytest.CaptureFixture[str]
) -> None:
    tails.events = {"a": [[_event("1", 1)], [], [_event("2", 2)]]}
    with pytest.raises(KeyboardInterrupt):
        _run("prod-text", "--follow", "--json")
    assert _messages(capsys) == ["1", "2"]


def test_nothing_to_show_is_said(tails: Tails, capsys: pytest.CaptureFixture[str]) -> None:
    tails.events = {"a": [[]]}
    assert _run("prod-text") == 0
    assert capsys.readouterr() == (
        "",
        "no lines match: the log is empty, has expired, or has no such text\n",
    )


@pytest.mark.parametrize(
    ("ago", "past"),
    [
        ("30s", timedelta(seconds=30)),
        ("10m", timedelta(minutes=10)),
        ("2h", timedelta(hours=2)),
        ("1d", timedelta(days=1)),
    ],
)
def test_lines_may_be_wanted_since_some_time(tails: Tails, ago: str, past: timedelta) -> None:
    tails.events = {"a": [[]]}
    before = datetime.now(UTC) - past
    _run("prod-text", "--since", ago)
    assert before <= tails.asked[0][3] <= datetime.now(UTC) - past


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--since", "5x"], "argument --since: '5x' is not a duration: write 30s, 10m, 2h or 1d"),
        (
            ["--lines", "-1"],
            "argument --lines: '-1' is not a number of lines: write 40, for example",
        ),
    ],
)
def test_wrong_arguments_are_one_line(arguments: list[str], said: str, capsys: Any) -> None:
    with pytest.raises(SystemExit, match="2"):
        _run("prod-text", *arguments)
    assert capsys.readouterr().err == f"error: {said} (tritonsm logs --help)\n"


@pytest.fixture
def own_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The local SageMaker's log, which is not there yet."""
    monkeypatch.setattr(Folder, "default", lambda: Folder(tmp_path))
    return Folder(tmp_path).log


def test_without_a_name_it_is_the_local_sagemaker_itself(own_log: Path, capsys: Any) -> None:
    with pytest.raises(
        CommandError, match="the local SageMaker has no log: start it with tritonsm up"
    ):
        _run()
    own_log.write_text("one\ntwo\nthree\ntwelve\n")
    assert _run("--lines", "2", "--grep", "tw") == 0
    assert capsys.readouterr().out == "two\ntwelve\n"
    for option in (["--json"], ["--since", "1h"], ["--errors"]):
        with pytest.raises(CommandError, match="has no --since, --errors or --json"):
            _run(*option)


def test_the_local_sagemakers_log_is_followed(
    own_log: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    own_log.write_text("one\n")
    written: list[Callable[[], object]] = [lambda: None, lambda: _append(own_log, "two\nthree\n")]

    def sleep(_: float) -> None:
        if not written:
            raise KeyboardInterrupt
        written.pop(0)()

    monkeypatch.setattr(time, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        _run("--follow", "--grep", "o")
    assert capsys.readouterr().out == "one\ntwo\n"


def _append(file: Path, text: str) -> None:
    with file.open("a") as log:
        log.write(text)
