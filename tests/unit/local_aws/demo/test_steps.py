import io
import re
import sys
from pathlib import Path

import pytest

from local_aws.demo.steps import StepFailed, run, step


class Terminal(io.StringIO):
    """What is printed, on a terminal."""

    def isatty(self) -> bool:
        return True


def shell(script: str, tmp_path: Path, **environment: str) -> Path:
    """Run a script as a step does; return its log."""
    log = tmp_path / "step.log"
    command = ["sh", "-c", script]
    run(command, log=log, environment=environment, advice="read the reason above")
    return log


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


# A step's program


def test_a_program_runs_into_its_log_and_prints_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = shell("echo out; echo err >&2", tmp_path)
    assert log.read_text() == "out\nerr\n"
    assert capfd.readouterr() == ("", "")


def test_a_program_sees_this_environment_and_the_steps_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOST", "of this process")
    monkeypatch.setenv("AWS_REGION", "of this process")
    log = shell('echo "$HOST/$AWS_REGION"', tmp_path, AWS_REGION="us-east-1")
    assert log.read_text() == "of this process/us-east-1\n"


@pytest.mark.usefixtures("something_typed")
def test_a_program_that_asks_gets_no_answer(tmp_path: Path) -> None:
    assert shell("read -r line || echo nothing to read", tmp_path).read_text() == (
        "nothing to read\n"
    )


def test_a_program_that_fails_is_named_with_its_logs_end_and_what_to_do(tmp_path: Path) -> None:
    script = "seq 1 20; echo no space left >&2; exit 7"
    with pytest.raises(StepFailed) as failed:
        shell(script, tmp_path)
    tail = "\n".join(f"    {line}" for line in [*range(7, 21), "no space left"])
    assert str(failed.value) == (
        f"sh -c {script} ended with status 7:\n{tail}\n"
        f"  Log: {tmp_path / 'step.log'}\n  What to do: read the reason above"
    )


def test_a_program_that_is_killed_has_failed(tmp_path: Path) -> None:
    with pytest.raises(StepFailed, match="ended with status -9:"):
        shell("kill -9 $$", tmp_path)


def test_a_program_that_is_not_there_is_named_with_what_to_do(tmp_path: Path) -> None:
    command = [str(tmp_path / "cdk"), "deploy"]
    with pytest.raises(StepFailed) as failed:
        run(command, log=tmp_path / "step.log", environment={}, advice="run make install")
    assert str(failed.value) == (
        f"{tmp_path}/cdk cannot be started: No such file or directory\n"
        "  What to do: run make install"
    )


def test_what_is_no_utf8_is_still_shown(tmp_path: Path) -> None:
    with pytest.raises(StepFailed, match="bad \N{REPLACEMENT CHARACTER} byte"):
        shell("printf 'bad \\377 byte\\n'; exit 1", tmp_path)


def test_a_second_run_starts_a_new_log(tmp_path: Path) -> None:
    shell("echo first", tmp_path)
    assert shell("echo second", tmp_path).read_text() == "second\n"
