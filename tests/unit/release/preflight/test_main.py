"""What a person and a program read, and what a delivery makes of it."""

import json
import os
import runpy
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import NoCredentialsError

from release.checkouts import Clone
from release.delivery import first_step
from release.delivery.errors import NotDelivered
from release.preflight import __main__ as command
from release.preflight import rendering
from release.preflight.preflight import NoCredentials, caller
from release.preflight.rows import Row, Verdict
from tests.unit.release.preflight.conftest import Aws, error

ROWS = [
    Row("image", "short", Verdict.OK, "is there"),
    Row("image", "a subject that is much longer than the one that stands above it", Verdict.REFUSED,
        "is not there", "choose another"),
    Row("quota", "q", Verdict.UNKNOWN, "not allowed to ask (a:B)"),
]  # fmt: skip


def test_the_table_has_marks_what_to_do_and_the_counts() -> None:
    assert rendering.table(ROWS).splitlines() == [
        "image",
        "  ✓ short  is there",
        "  ✗ a subject that is much longer than the one that stands above it",
        "           is not there",
        "           → choose another",
        "",
        "quota",
        "  ? q  not allowed to ask (a:B)",
        "",
        "1 ok, 1 refused, 1 unknown",
    ]


def test_json_has_every_row_and_the_counts() -> None:
    content = json.loads(rendering.as_json(ROWS))
    assert content["count"] == {"ok": 1, "refused": 1, "unknown": 1}
    assert content["rows"][2] == {
        "topic": "quota",
        "subject": "q",
        "verdict": "unknown",
        "said": "not allowed to ask (a:B)",
        "do": "",
    }


@pytest.mark.parametrize(("rows", "code"), [(ROWS, 1), ([ROWS[0], ROWS[2]], 0), ([], 0)])
def test_only_a_refusal_ends_with_1(
    clone: Clone, monkeypatch: pytest.MonkeyPatch, rows: list[Row], code: int
) -> None:
    from contextlib import nullcontext

    monkeypatch.chdir(clone.root)
    monkeypatch.setattr(command, "account_of", lambda *_: nullcontext(SimpleNamespace()))
    monkeypatch.setattr(command, "rows_of", lambda *_: iter(rows))
    assert command.main(["prod"]) == code


@pytest.mark.parametrize(
    ("note", "said"),
    [("", "what was made is removed"), ("change set c is left", "change set c is left")],
)
def test_an_interrupt_is_one_clear_line_and_130(
    clone: Clone,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    note: str,
    said: str,
) -> None:
    def interrupted(*_: object) -> None:
        interrupt = KeyboardInterrupt()
        if note:
            interrupt.add_note(note)
        raise interrupt

    monkeypatch.chdir(clone.root)
    monkeypatch.setattr(command, "account_of", interrupted)
    assert command.main(["prod"]) == 130
    assert capsys.readouterr().err == f"interrupted: {said}\n"


def test_a_terminated_preflight_is_interrupted(
    clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    def terminated(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    monkeypatch.chdir(clone.root)
    monkeypatch.setattr("release.preflight.preflight.account_of", terminated)
    monkeypatch.setattr(sys, "argv", ["preflight", "prod"])
    monkeypatch.delitem(sys.modules, "release.preflight.__main__")
    try:
        with pytest.raises(SystemExit) as ended:
            runpy.run_module("release.preflight", run_name="__main__")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 130


def test_without_credentials_there_is_one_clear_line(
    clone: Clone, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(clone.root)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    assert command.main(["prod"]) == 1
    said = capsys.readouterr()
    assert said.err == "error: no credentials: there are none: aws configure, or AWS_PROFILE\n"
    assert said.out == ""


def test_a_stage_that_is_not_there_is_one_clear_line(
    clone: Clone, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(clone.root)
    assert command.main(["nope"]) == 1
    assert capsys.readouterr().err.startswith("error: no stage 'nope': ")


def test_credentials_that_aws_does_not_know_are_none(aws: Aws) -> None:
    aws.answers["sts.GetCallerIdentity"] = error("ExpiredToken", "The token has expired")
    with pytest.raises(NoCredentials, match="The token has expired"):
        caller(aws.session)
    for code in ("InvalidClientTokenId", "UnrecognizedClientException"):
        aws.answers["sts.GetCallerIdentity"] = error(code, "The token is invalid.")
        with pytest.raises(NoCredentials) as told:
            caller(aws.session)
        assert str(told.value) == (
            "The token is invalid. Or us-east-1 is not enabled in this account: "
            "aws account enable-region --region-name us-east-1"
        )
    aws.answers["sts.GetCallerIdentity"] = NoCredentialsError()
    with pytest.raises(NoCredentials):
        caller(aws.session)
    arn = "arn:aws-cn:iam::111122223333:root"
    aws.answers["sts.GetCallerIdentity"] = {"Account": "111122223333", "Arn": arn}
    assert caller(aws.session).partition == "aws-cn"


def asked(monkeypatch: pytest.MonkeyPatch, rows: list[Row], *, anyway: bool = False) -> None:
    monkeypatch.setattr(first_step, "before_a_delivery", lambda *_: rows)
    assembly: Any = SimpleNamespace(stage="prod", folder=Path("nowhere"))
    tree: Any = None
    session: Any = boto3.Session()
    first_step.ask_the_account(tree, assembly, session, anyway=anyway)


def test_a_delivery_ends_before_anything_changed_where_the_account_refuses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(NotDelivered) as refused:
        asked(monkeypatch, ROWS)
    assert "is not there" in str(refused.value)
    assert "IGNORE_PREFLIGHT=1" in str(refused.value)
    assert "short" not in str(refused.value)


def test_a_delivery_goes_on_where_it_is_told_to_and_where_nobody_knows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(monkeypatch, ROWS, anyway=True)
    asked(monkeypatch, [ROWS[2]])
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if line.startswith("!")] == [f"! {ROWS[1].subject}: is not there"]
    assert said[-1] == "? not known before the deploy: quota (not allowed to ask (a:B))"


def test_a_delivery_without_credentials_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*_: object) -> list[Row]:
        raise NoCredentials("there are none")

    monkeypatch.setattr(first_step, "before_a_delivery", nobody)
    assembly: Any = SimpleNamespace(stage="prod", folder=Path("nowhere"))
    tree: Any = None
    with pytest.raises(NotDelivered, match="no credentials: there are none"):
        first_step.ask_the_account(tree, assembly, boto3.Session())


def test_every_topic_is_asked_once_and_a_delivery_asks_some() -> None:
    from release.preflight.topics import ALL, BEFORE_A_DELIVERY

    names = [topic.name for topic, _ in ALL]
    assert len(names) == len(set(names))
    assert set(BEFORE_A_DELIVERY) < set(ALL)
