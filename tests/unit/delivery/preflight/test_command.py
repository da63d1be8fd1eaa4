"""Tests of the preflight command, its output, and the preflight of a delivery."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import EndpointConnectionError

from delivery import deliver
from delivery.errors import NotDelivered
from delivery.preflight import command
from delivery.preflight.account import (
    Account,
    CheckFinding,
    NoCredentials,
    Verdict,
    caller,
    ok,
    refused,
)
from delivery.preflight.checks import run_checks
from release.checkout import GitCheckout
from tests.processes import run_main
from tests.tritonsm import tritonsm
from tests.unit.delivery.preflight.conftest import Aws, denied, error

FINDINGS = [
    CheckFinding(Verdict.OK, "a", "exists", check="images"),
    CheckFinding(Verdict.REFUSED, "b", "does not exist", "choose another", check="images"),
    CheckFinding(Verdict.UNKNOWN, "c", "no permission (a:B)", check="quotas"),
]


def passing_check(_: Account) -> Iterator[CheckFinding]:
    yield ok("c", "exists")


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (denied("ssm:GetParameter"), "no permission (ssm:GetParameter)"),
        (error("UnauthorizedOperation", "no", "DescribeSubnets"),
         "no permission (DescribeSubnets)"),
        (error("Throttled", "too fast", "ListThings"), "AWS: ListThings failed: too fast"),
        (EndpointConnectionError(endpoint_url="https://nowhere"),
         'AWS: Could not connect to the endpoint URL: "https://nowhere"'),
    ],
)  # fmt: skip
def test_failed_call_is_unknown_and_the_next_check_runs(
    aws: Aws, failure: Exception, message: str
) -> None:
    def failing_check(_: Account) -> Iterator[CheckFinding]:
        yield refused("first", "does not exist", "correct it")
        raise failure

    first, second, third = run_checks(
        aws.account(), {"failing": failing_check, "passing": passing_check}
    )
    assert (first.subject, first.verdict) == ("first", Verdict.REFUSED)
    assert second == CheckFinding(Verdict.UNKNOWN, "failing", message, check="failing")
    assert third.verdict is Verdict.OK


@pytest.mark.parametrize(
    ("findings", "code"), [(FINDINGS, 1), ([FINDINGS[0], FINDINGS[2]], 0), ([], 0)]
)
def test_refused_finding_has_exit_code_1(
    clone: GitCheckout, monkeypatch: pytest.MonkeyPatch, findings: list[CheckFinding], code: int
) -> None:
    monkeypatch.chdir(clone.root)
    monkeypatch.setattr(command, "account_of", lambda *_: nullcontext(SimpleNamespace()))
    monkeypatch.setattr(command, "run_checks", lambda *_: iter(findings))
    assert tritonsm(["preflight", "prod"]) == code


def test_missing_credentials_are_reported_in_one_line(
    clone: GitCheckout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clone.root)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    captured = run_main(tritonsm, "preflight", "prod", code=1)
    assert (
        captured.stderr
        == "error: no credentials: none found: run aws configure, or set AWS_PROFILE\n"
    )
    assert captured.stdout == ""


def run_preflight(
    aws: Aws,
    monkeypatch: pytest.MonkeyPatch,
    findings: list[CheckFinding],
    *,
    ignore_findings: bool = False,
) -> None:
    arn = "arn:aws:iam::111122223333:root"
    aws.answers["sts.GetCallerIdentity"] = {"Account": "111122223333", "Arn": arn}
    monkeypatch.setattr(deliver, "run_checks", lambda _: iter(findings))
    assembly: Any = SimpleNamespace(stage="prod", folder=Path("nowhere"), tree=None)
    deliver.run_preflight(assembly, aws.session, ignore_findings=ignore_findings)


def test_refused_finding_ends_a_delivery(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotDelivered) as refused:
        run_preflight(aws, monkeypatch, FINDINGS)
    assert "does not exist" in str(refused.value)
    assert "IGNORE_PREFLIGHT=1" in str(refused.value)
    assert "a: exists" not in str(refused.value)


def test_delivery_without_credentials_ends(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliver, "caller", Mock(side_effect=NoCredentials("none found")))
    with pytest.raises(NotDelivered, match="no credentials: none found"):
        run_preflight(aws, monkeypatch, [])


def test_invalid_credentials_are_an_error(aws: Aws) -> None:
    aws.answers["sts.GetCallerIdentity"] = error("InvalidClientTokenId", "The token is invalid.")
    with pytest.raises(NoCredentials, match=r"The token is invalid\. Or us-east-1 is not"):
        caller(aws.session)


def test_delivery_continues_after_unknown_or_ignored_findings(
    aws: Aws, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_preflight(aws, monkeypatch, FINDINGS, ignore_findings=True)
    run_preflight(aws, monkeypatch, [FINDINGS[2]])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("!")] == ["! b: does not exist"]
    assert lines[-1] == "? not checked: c: no permission (a:B)"
