"""Tests of command dispatch."""

import re
from pathlib import Path

import pytest

from cli import dispatch
from cli.commands import COMMANDS, NEED_ALL_PACKAGES
from cli.dispatch import parse_command
from tests.unit.cli.conftest import run_python


def _run(*arguments: str, **environment: str) -> str:
    return run_python(*arguments, env={"PATH": "", "COLUMNS": "100", **environment}).stdout


def test_overview_lists_commands_without_importing_packages() -> None:
    script = (
        "import sys; from cli.dispatch import parse_command; parse_command([])(); "
        "print('imported:', *{name.partition('.')[0] for name in sys.modules})"
    )
    overview, imported = _run("-c", script).split("imported:")
    assert all(
        f"  {command.name} " in overview and command.summary in overview
        for command in COMMANDS.values()
    )
    slow_packages = "boto3 aws_cdk torch numpy pydantic local_sagemaker model_build"
    assert not {*slow_packages.split()} & {*imported.split()}


def test_unknown_command_is_an_error_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse_command(["lnt"])
    assert capsys.readouterr().err == (
        "error: no command 'lnt': did you mean lint? tritonsm --help lists all\n"
    )


def test_missing_packages_are_an_error_with_the_fix(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dispatch, "find_spec", lambda _: None)
    assert COMMANDS.keys() >= NEED_ALL_PACKAGES
    with pytest.raises(SystemExit, match="1"):
        parse_command(["build", "minilm"])
    assert capsys.readouterr().err == (
        "error: tritonsm build needs packages that make install-cdk leaves out: make install\n"
    )


@pytest.mark.parametrize(("name", "code"), [("lock", "2"), ("deliver", "1"), ("new", "2")])
def test_wrong_arguments_have_the_exit_code_of_the_command(
    capsys: pytest.CaptureFixture[str], name: str, code: str
) -> None:
    with pytest.raises(SystemExit, match=code):
        parse_command([name])
    error = capsys.readouterr().err
    assert error.startswith("error: the following arguments are required: ")
    assert error.endswith(f"(tritonsm {name} --help)\n")


def test_local_option_needs_the_local_sagemaker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "dev.yaml").write_text("region: us-east-1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)
    assert parse_command(["retire", "dev", "text", "m", "0", "--local"])() == 1
    assert capsys.readouterr().err == (
        "error: the local SageMaker is not running: run `tritonsm up` or `local-sagemaker up`\n"
    )


def test_incomplete_environment_is_one_line_with_the_fix() -> None:
    process = run_python("-S", "-m", "cli", "list")
    assert process.returncode == 1
    assert re.fullmatch(
        r"error: .* is incomplete: No module named '\w+': make install\n", process.stderr
    )
