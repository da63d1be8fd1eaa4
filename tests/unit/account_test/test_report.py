"""The report of a run, and the example report in docs."""

import json
import re
from typing import Any

import pytest

from account_test import deployment_checks, report
from account_test.answers import Answers
from account_test.checks import checks
from account_test.report import StepOutcome
from account_test.scrubbing import scrub
from tests.unit.account_test.conftest import Recording
from tests.unit.test_repository import ROOT

EXAMPLE = ROOT / "docs" / "examples" / "account-test.json"


def content(answers: Answers) -> dict[str, Any]:
    secrets = {"/home/ann": "~"}
    about = {"mode": "full"}
    return report.content(about, answers, [StepOutcome("deploy", 1.0, "in /home/ann")], [], secrets)


def test_check_has_indexes_of_deciding_responses() -> None:
    recording = Recording()("invoke", "InvokeEndpoint", {"Y": 1.0}, X=7.0)
    recording("same configuration", "UpdateEndpoint", EndpointName="one")
    result = content(recording.answers)
    check = next(row for row in result["checks"] if row["id"] == "update-to-what-serves")
    (answer,) = (result["answers"][index] for index in check["answers"])
    assert (check["result"], answer["operation"]) == ("confirmed", "service:UpdateEndpoint")
    assert len(result["answers"]) == 1, "responses that no check uses are omitted"


def test_report_has_no_personal_data() -> None:
    recording = Recording()(
        "same configuration", "UpdateEndpoint", error="ValidationException", Arn="of 111122223333"
    )
    text = json.dumps(content(recording.answers))
    assert "<account>" in text
    assert "in ~" in text
    assert not re.search("111122223333|/home/ann", text)


def test_unexpected_response_makes_only_its_check_inconclusive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(_: Answers) -> None:
        raise KeyError("EndpointStatus")

    monkeypatch.setattr(deployment_checks, "scaling_status", broken)
    rows = {check["id"]: check for check in content(Answers())["checks"]}
    assert rows["scaling-status"]["result"] == "inconclusive"
    assert "KeyError: 'EndpointStatus'" in rows["scaling-status"]["evidence"]


def test_docs_example_is_current_and_anonymous() -> None:
    example = json.loads(EXAMPLE.read_text())
    assert [check["id"] for check in example["checks"]] == [check.id for check in checks()]
    assert example["format"] == report.FORMAT
    assert example["answered_by"].startswith("an emulator")
    assert scrub(example, {}) == example
    assert not re.search(r"[^.\w]/(home|root|tmp|work)/", EXAMPLE.read_text())
