import sys

import pytest

from model_build.progress import Printer


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What time it is; tests move it."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_a_line_says_what_begins_for_which_model_and_after_how_long(
    capsys: pytest.CaptureFixture[str], clock: list[float]
) -> None:
    say = Printer("minilm")
    say("exporting")
    clock[0] = 112.34
    say("packing")
    captured = capsys.readouterr()
    assert captured.err == "minilm    0.0 s  exporting\nminilm   12.3 s  packing\n"
    assert captured.out == ""  # standard output is for results


def test_a_log_gets_a_line_every_ten_seconds(
    capsys: pytest.CaptureFixture[str], clock: list[float]
) -> None:
    with Printer("bert").measure("packing", total=4_000_000) as count:
        for _ in range(4):
            clock[0] += 5
            count(1_000_000)
    assert capsys.readouterr().err.splitlines() == [
        "bert    0.0 s  packing",
        "bert   10.0 s  packing [============            ]  50% of 4.0 MB",
        "bert   20.0 s  packing [========================] 100% of 4.0 MB",
    ]


def test_a_terminal_sees_one_line_grow(
    capsys: pytest.CaptureFixture[str], clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Printer("bert").measure("packing", total=0) as count:
        clock[0] += 1
        count(0)
    lines = capsys.readouterr().err.split("\r")
    assert lines[0] == "bert    0.0 s  packing"
    assert lines[-1] == "bert    1.0 s  packing [========================] 100% of 0.0 MB\n"
