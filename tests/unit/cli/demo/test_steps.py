import io
import re
import sys

import pytest

from cli.demo.steps import StepFailed, step


class Terminal(io.StringIO):
    """What is printed, on a terminal."""

    def isatty(self) -> bool:
        return True


# A step's line


def test_a_step_that_is_done_says_how_long_it_took(capsys: pytest.CaptureFixture[str]) -> None:
    with step("cdk bootstrap"):
        assert capsys.readouterr().out == ""
    assert re.fullmatch(r"\r✓ cdk bootstrap \(\d\.\d s\)\n", capsys.readouterr().out)


def test_a_step_that_fails_is_crossed_and_its_error_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(StepFailed, match="no space left"), step("cdk deploy"):
        raise StepFailed("no space left")
    assert capsys.readouterr().out == "\r✗ cdk deploy\n"


def test_an_interrupted_step_is_crossed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), step("cdk deploy"):
        raise KeyboardInterrupt
    assert capsys.readouterr().out == "\r✗ cdk deploy\n"


def test_a_terminal_shows_what_is_under_way_and_then_the_same_line_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    with step("cdk deploy"):
        while not terminal.getvalue():
            pass
    assert re.fullmatch(r"\r… cdk deploy \(0 s\)\r✓ cdk deploy \(\d\.\d s\)\n", terminal.getvalue())


def test_a_step_that_shows_itself_what_it_does_is_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    with step("cdk deploy", counts=False):
        pass
    assert re.fullmatch(r"\r✓ cdk deploy \(\d\.\d s\)\n", terminal.getvalue())
