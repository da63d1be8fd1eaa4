"""The report, and the example of one in docs."""

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


def test_a_check_names_the_places_of_the_answers_that_decided_it() -> None:
    recording = Recording()("invoke", "InvokeEndpoint", {"Y": 1.0}, X=7.0)
    recording("same configuration", "UpdateEndpoint", EndpointName="one")
    written = content(recording.answers)
    check = next(each for each in written["checks"] if each["id"] == "update-to-what-serves")
    (answer,) = (written["answers"][place] for place in check["answers"])
    assert (check["result"], answer["operation"]) == ("confirmed", "service:UpdateEndpoint")
    assert len(written["answers"]) == 1, "an answer that no check used is left out"


def test_what_identifies_a_person_is_in_no_report() -> None:
    recording = Recording()(
        "same configuration", "UpdateEndpoint", error="ValidationException", Arn="of 111122223333"
    )
    text = json.dumps(content(recording.answers))
    assert "<account>" in text
    assert "in ~" in text
    assert not re.search("111122223333|/home/ann", text)


def test_answers_that_nobody_expected_cost_one_check_and_not_the_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(_: Answers) -> None:
        raise KeyError("EndpointStatus")

    monkeypatch.setattr(deployment_checks, "scaling_status", broken)
    rows = {check["id"]: check for check in content(Answers())["checks"]}
    assert rows["scaling-status"]["result"] == "inconclusive"
    assert "KeyError: 'EndpointStatus'" in rows["scaling-status"]["evidence"]


def test_the_example_in_docs_is_of_these_checks_and_names_nobody() -> None:
    example = json.loads(EXAMPLE.read_text())
    assert [check["id"] for check in example["checks"]] == [check.id for check in checks()]
    assert example["format"] == report.FORMAT
    assert example["answered_by"].startswith("an emulator")
    assert scrub(example, {}) == example
    assert not re.search(r"[^.\w]/(home|root|tmp|work)/", EXAMPLE.read_text())
