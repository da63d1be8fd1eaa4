"""The account test against the local SageMaker: a full run, and one without cost."""

import json
from contextlib import chdir
from pathlib import Path
from typing import Any

import boto3
import pytest

from account_test import __main__ as account_test
from account_test import paid_steps
from account_test import run as account_run
from account_test.answers import AnswerRecorder
from account_test.removal import Removal
from account_test.state import FOLDER, State
from cli.help_format import Parser
from tests.local.conftest import Checkout

NO_BACKEND = "missing"
"""A backend that no image has: the local SageMaker would install its DALI substitute."""
Report = dict[str, Any]


def run(checkout: Checkout, *arguments: str) -> int:
    """Run the command in this process; return its exit code."""
    parser = Parser(prog="tritonsm")
    account_test.add_to(parser.add_subparsers(parser_class=Parser))
    options = parser.parse_args(["account-test", "--yes", *arguments])
    with chdir(checkout.path):
        return account_test.run(options)


def remaining_resources(checkout: Checkout) -> dict[str, list[str]]:
    """Return the resources that remain after a run, found without its state file."""
    recorder = AnswerRecorder(boto3.Session())
    return Removal(recorder, State(checkout.path / "empty.json")).find()


def results(report: Report) -> dict[str, str]:
    return {check["id"]: check["result"] for check in report["checks"]}


@pytest.fixture(scope="module")
def full_report(checkout: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Report of a full run."""
    path = tmp_path_factory.mktemp("report") / "report.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paid_steps, "BACKEND", NO_BACKEND)
        patch.setattr(account_run, "PAUSE_SECONDS", 0.1)  # a minute on AWS is a second in this test
        assert run(checkout, "--report", str(path)) == 0
    return dict(json.loads(path.read_text()))


def test_full_run_does_every_step_and_removes_its_resources(
    checkout: Checkout, full_report: Report
) -> None:
    problems = {step["step"] for step in full_report["steps"] if step["problem"]}
    # CloudTrail and pools of multi-model containers are not emulated.
    assert problems == {"metrics", "pools"}
    assert full_report["remaining"] == []
    assert remaining_resources(checkout) == {}
    assert not (checkout.path / FOLDER / "state.json").exists()


def test_full_run_results(full_report: Report) -> None:
    confirmed = {
        "another-variant",
        "cloudformation-sees-failed-update",
        "create-model",
        "detailed-observability",
        "durations",
        "first-deploy",
        "model-errors-dimension",
        "quotas",
        "stack-rollback",
        "templates",
        "update-to-what-serves",
        "zero-instances",
    }
    outcomes = results(full_report)
    assert {name: outcomes[name] for name in confirmed} == dict.fromkeys(confirmed, "confirmed")
    assert outcomes["cloudformation-sees-alarm-rollback"] == "refuted"
    not_emulated = ("kms-describe-key", "multi-model-pools", "policies", "triton-metrics")
    assert {outcomes[name] for name in not_emulated} == {"inconclusive"}
    assert full_report["answered_by"].startswith("an emulator")


def test_report_has_the_responses_of_its_checks(full_report: Report) -> None:
    (check,) = (entry for entry in full_report["checks"] if entry["id"] == "update-to-what-serves")
    (answer,) = (full_report["answers"][number] for number in check["answers"])
    assert answer["operation"] == "sagemaker:UpdateEndpoint"
    assert answer["request"]["EndpointName"] == "triton-acctest-cpu"
    assert {"step", "date", "response", "error"} <= answer.keys()


def test_free_run_starts_no_instance(checkout: Checkout, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    assert run(checkout, "--free", "--report", str(path)) == 0
    report = json.loads(path.read_text())
    outcomes = results(report)
    assert (outcomes["create-model"], outcomes["first-deploy"]) == ("confirmed", "inconclusive")
    operations = {answer["operation"] for answer in report["answers"]}
    assert "sagemaker:CreateEndpoint" not in operations
    assert remaining_resources(checkout) == {}
