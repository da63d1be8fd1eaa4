"""The account test, rehearsed: a whole run, and one without cost."""

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

NO_BACKEND = "nobody"
"""A backend that no image has: the local SageMaker would install its stand-in for DALI."""
Report = dict[str, Any]


def run(checkout: Checkout, *arguments: str) -> int:
    """Run the command in this process; return its exit code."""
    parser = Parser(prog="tritonsm")
    account_test.add_to(parser.add_subparsers(parser_class=Parser))
    options = parser.parse_args(["account-test", "--yes", *arguments])
    with chdir(checkout.path):
        return account_test.run(options)


def left(checkout: Checkout) -> dict[str, list[str]]:
    """Return what a run has left, without what its state file remembers."""
    recorder = AnswerRecorder(boto3.Session())
    return Removal(recorder, State(checkout.path / "nothing.json")).find()


def results(report: Report) -> dict[str, str]:
    return {check["id"]: check["result"] for check in report["checks"]}


@pytest.fixture(scope="module")
def full(checkout: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of a whole run."""
    path = tmp_path_factory.mktemp("report") / "report.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paid_steps, "BACKEND", NO_BACKEND)
        patch.setattr(account_run, "PAUSE_SECONDS", 0.1)  # AWS's minutes have a second here
        assert run(checkout, "--report", str(path)) == 0
    return dict(json.loads(path.read_text()))


def test_a_whole_run_does_every_step_and_leaves_nothing(checkout: Checkout, full: Report) -> None:
    problems = {step["step"] for step in full["steps"] if step["problem"]}
    assert problems == {"metrics", "pools"}  # CloudTrail, and pools of multi-model containers
    assert full["remaining"] == []
    assert left(checkout) == {}
    assert not (checkout.path / FOLDER / "state.json").exists()


def test_a_whole_run_answers_what_the_local_sagemaker_can_show(full: Report) -> None:
    shown = {
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
    outcomes = results(full)
    assert {name: outcomes[name] for name in shown} == dict.fromkeys(shown, "confirmed")
    assert outcomes["cloudformation-sees-alarm-rollback"] == "refuted"
    not_emulated = ("kms-describe-key", "multi-model-pools", "policies", "triton-metrics")
    assert {outcomes[name] for name in not_emulated} == {"inconclusive"}
    assert full["answered_by"].startswith("an emulator")


def test_a_report_has_the_answers_that_decided_its_checks(full: Report) -> None:
    (check,) = (each for each in full["checks"] if each["id"] == "update-to-what-serves")
    (answer,) = (full["answers"][each] for each in check["answers"])
    assert answer["operation"] == "sagemaker:UpdateEndpoint"
    assert answer["request"]["EndpointName"] == "triton-acctest-cpu"
    assert {"step", "date", "response", "error"} <= answer.keys()


def test_a_run_without_cost_starts_no_instance_and_leaves_nothing(
    checkout: Checkout, tmp_path: Path
) -> None:
    path = tmp_path / "report.json"
    assert run(checkout, "--free", "--report", str(path)) == 0
    report = json.loads(path.read_text())
    outcomes = results(report)
    assert (outcomes["create-model"], outcomes["first-deploy"]) == ("confirmed", "inconclusive")
    assert {answer["operation"] for answer in report["answers"]}.isdisjoint(
        {"sagemaker:CreateEndpoint"}
    )
    assert left(checkout) == {}
