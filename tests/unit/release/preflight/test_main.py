"""What a person and a program read, and what a delivery makes of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError, NoCredentialsError

from release.checkouts import Clone
from release.delivery import first_step
from release.delivery.errors import NotDelivered
from release.preflight import command
from release.preflight.account import Account, NoCredentials, caller
from release.preflight.checks import run_checks
from release.preflight.findings import CheckFinding, Verdict, as_json, ok, refused, table
from tests.tritonsm import tritonsm
from tests.unit.release.preflight.conftest import Aws, MakeAccount, denied, error

FINDINGS = [
    CheckFinding(Verdict.OK, "a", "exists", check="images"),
    CheckFinding(Verdict.REFUSED, "b", "does not exist", "choose another", check="images"),
    CheckFinding(Verdict.UNKNOWN, "c", "not allowed to ask (a:B)", check="quotas"),
]


def test_the_table_has_marks_fixes_and_counts() -> None:
    assert table(FINDINGS).splitlines() == [
        "images",
        "  ✓ a: exists",
        "  ✗ b: does not exist",
        "    → choose another",
        "",
        "quotas",
        "  ? c: not allowed to ask (a:B)",
        "",
        "1 ok, 1 refused, 1 unknown",
    ]


def test_json_has_every_finding() -> None:
    assert json.loads(as_json(FINDINGS))["findings"][2] == {
        "check": "quotas",
        "subject": "c",
        "verdict": "unknown",
        "message": "not allowed to ask (a:B)",
        "fix": "",
    }


def fine(_: Account) -> Iterator[CheckFinding]:
    yield ok("c", "exists")


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (denied("ssm:GetParameter"), "not allowed to ask (ssm:GetParameter)"),
        (
            error("UnauthorizedOperation", "no", "DescribeSubnets"),
            "not allowed to ask (DescribeSubnets)",
        ),
        (error("Throttled", "too fast", "ListThings"), "AWS answers ListThings with: too fast"),
        (error("400", "", "ListThings"), "AWS answers ListThings with: 400"),
        (
            EndpointConnectionError(endpoint_url="https://nowhere"),
            'AWS: Could not connect to the endpoint URL: "https://nowhere"',
        ),
    ],
)
def test_a_check_that_aws_does_not_answer_is_unknown_and_the_next_runs(
    make: MakeAccount, failure: Exception, message: str
) -> None:
    def broken(_: Account) -> Iterator[CheckFinding]:
        yield refused("first", "was found before", "correct it")
        raise failure

    first, second, third = run_checks(make(), {"broken": broken, "fine": fine})
    assert (first.subject, first.verdict) == ("first", Verdict.REFUSED)
    assert second == CheckFinding(Verdict.UNKNOWN, "broken", message, check="broken")
    assert third.verdict is Verdict.OK


def test_a_bug_is_no_finding(make: MakeAccount) -> None:
    def broken(_: Account) -> Iterator[CheckFinding]:
        yield ok("a", "exists")
        raise KeyError("ours")

    with pytest.raises(KeyError):
        list(run_checks(make(), {"broken": broken}))


@pytest.mark.parametrize(
    ("findings", "code"), [(FINDINGS, 1), ([FINDINGS[0], FINDINGS[2]], 0), ([], 0)]
)
def test_only_a_refusal_ends_with_1(
    clone: Clone, monkeypatch: pytest.MonkeyPatch, findings: list[CheckFinding], code: int
) -> None:
    from contextlib import nullcontext

    monkeypatch.chdir(clone.root)
    monkeypatch.setattr(command, "account_of", lambda *_: nullcontext(SimpleNamespace()))
    monkeypatch.setattr(command, "run_checks", lambda *_: iter(findings))
    assert tritonsm(["preflight", "prod"]) == code


def test_without_credentials_there_is_one_clear_line(
    clone: Clone, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(clone.root)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    assert tritonsm(["preflight", "prod"]) == 1
    captured = capsys.readouterr()
    assert captured.err == "error: no credentials: there are none: aws configure, or AWS_PROFILE\n"
    assert captured.out == ""


def test_a_stage_that_is_not_there_is_one_clear_line(
    clone: Clone, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(clone.root)
    assert tritonsm(["preflight", "nope"]) == 1
    assert capsys.readouterr().err.startswith("error: no stage 'nope': ")


def test_credentials_that_aws_does_not_know_are_none(aws: Aws) -> None:
    aws.answers["sts.GetCallerIdentity"] = error("ExpiredToken", "The token has expired")
    with pytest.raises(NoCredentials, match="The token has expired"):
        caller(aws.session)
    for code in ("InvalidClientTokenId", "UnrecognizedClientException"):
        aws.answers["sts.GetCallerIdentity"] = error(code, "The token is invalid.")
        with pytest.raises(NoCredentials) as raised:
            caller(aws.session)
        assert str(raised.value) == (
            "The token is invalid. Or us-east-1 is not enabled in this account: "
            "aws account enable-region --region-name us-east-1"
        )
    aws.answers["sts.GetCallerIdentity"] = NoCredentialsError()
    with pytest.raises(NoCredentials):
        caller(aws.session)


def check_in_a_delivery(
    aws: Aws,
    monkeypatch: pytest.MonkeyPatch,
    findings: list[CheckFinding],
    *,
    ignore_findings: bool = False,
) -> None:
    arn = "arn:aws:iam::111122223333:root"
    aws.answers["sts.GetCallerIdentity"] = {"Account": "111122223333", "Arn": arn}
    monkeypatch.setattr(first_step, "run_checks", lambda _: iter(findings))
    assembly: Any = SimpleNamespace(stage="prod", folder=Path("nowhere"))
    tree: Any = None
    first_step.run_preflight(tree, assembly, aws.session, ignore_findings=ignore_findings)


def test_a_delivery_ends_before_anything_changed_where_the_account_refuses(
    aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotDelivered) as refused:
        check_in_a_delivery(aws, monkeypatch, FINDINGS)
    assert "does not exist" in str(refused.value)
    assert "IGNORE_PREFLIGHT=1" in str(refused.value)
    assert "a: exists" not in str(refused.value)


def test_a_delivery_goes_on_where_it_is_told_to_and_where_nothing_is_known(
    aws: Aws, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check_in_a_delivery(aws, monkeypatch, FINDINGS, ignore_findings=True)
    check_in_a_delivery(aws, monkeypatch, [FINDINGS[2]])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("!")] == ["! b: does not exist"]
    assert lines[-1] == "? not known before the deploy: c: not allowed to ask (a:B)"


def test_a_delivery_without_credentials_is_none(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: object) -> None:
        raise NoCredentials("there are none")

    monkeypatch.setattr(first_step, "caller", none)
    with pytest.raises(NotDelivered, match="no credentials: there are none"):
        check_in_a_delivery(aws, monkeypatch, [])
