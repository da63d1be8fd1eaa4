"""Runs of the account test: confirmation, refusals, steps, deletion and report."""

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from account_test import __main__ as account_test
from account_test import free_steps, paid_steps, price
from account_test.answers import Answers
from account_test.checkout import Checkout
from account_test.run import StepFailed
from account_test.state import FOLDER, State, lock_state
from release.preflight.account import Caller, NoCredentials
from release.preflight.findings import CheckFinding, Verdict
from tests.unit.test_repository import ROOT

ACCOUNT, REGION = "111122223333", "us-east-1"
REMAINS = {"stack": ["triton-acctest-cpu"]}


class FakeAccount:
    """An account with stacks, whose steps only record their names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.remains: dict[str, list[str]] = {}
        self.busy: list[str] = []
        self.remaining: list[str] = []
        self.refused: list[str] = []
        self.steps_run: list[str] = []
        self.removals = 0
        self.state = State(FOLDER / "state.json")

    def do(self, step: str, _: Any) -> None:
        self.steps_run.append(step)

    def find(self) -> dict[str, list[str]]:
        return self.remains

    def remove_all(self) -> list[str]:
        self.removals += 1
        self.remains = {}
        return self.remaining

    def run(self, **options: Any) -> int:
        defaults = {"region": None, "free": False, "clean_up": False, "yes": True}
        report = self.folder / "report.json"
        return account_test.run(argparse.Namespace(**{**defaults, "report": report, **options}))

    @property
    def report(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.folder / "report.json").read_text())
        return content


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeAccount:
    fake = FakeAccount(tmp_path)
    monkeypatch.chdir(tmp_path)
    stage = {"region": REGION, "release": "25.09"}
    checkout = SimpleNamespace(
        assembly=tmp_path,
        instance_type="ml.c5.xlarge",
        stage=stage,
        synthesise=lambda: None,
        tree=None,
    )
    recorder = SimpleNamespace(
        answers=Answers(), client=lambda _: None, session=boto3.Session(region_name=REGION), step=""
    )
    monkeypatch.setattr(Checkout, "create", lambda *_: checkout)
    monkeypatch.setattr(account_test, "AnswerRecorder", lambda _: recorder)

    def removal(recorder: Any, state: State) -> FakeAccount:
        fake.state = state
        fake.recorder = recorder  # type: ignore[attr-defined]
        return fake

    monkeypatch.setattr(account_test, "Removal", removal)
    monkeypatch.setattr(account_test, "operations_in_progress", lambda *_: fake.busy)
    who = Caller(ACCOUNT, f"arn:aws:iam::{ACCOUNT}:user/ann")
    monkeypatch.setattr(account_test, "caller", lambda _: who)

    def findings(_: object) -> list[CheckFinding]:
        return [
            CheckFinding(Verdict.REFUSED, subject, "quota 0", "ask for more", check="instances")
            for subject in fake.refused
        ]

    monkeypatch.setattr(account_test, "run_checks", findings)
    for number, step in enumerate(account_test._steps(free=False)):
        module = free_steps if number < len(account_test._steps(free=True)) else paid_steps
        do = partial(fake.do, step.name)
        monkeypatch.setattr(module, step.name.replace(" ", "_"), do)
    return fake


def fail(error: BaseException) -> Callable[[Any], None]:
    def step(_: Any) -> None:
        raise error

    return step


def test_all_steps_run_in_order_before_deletion(fake: FakeAccount) -> None:
    assert fake.run() == 0
    assert fake.steps_run == [step.name for step in account_test._steps(free=False)]
    assert (fake.steps_run[0], fake.steps_run[-1]) == ("quotas", "metrics")
    assert fake.removals == 2, "once for remains of an earlier run, once after the steps"


def test_free_run_does_only_free_steps(
    fake: FakeAccount, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fake.run(free=True) == 0
    free = ["quotas", "templates", "policies", "configurations", "pools", "components"]
    assert fake.steps_run == free
    assert fake.report["mode"] == "free"
    assert "USD" not in capsys.readouterr().out


def test_clean_up_runs_no_step(fake: FakeAccount, capsys: pytest.CaptureFixture[str]) -> None:
    fake.remains = REMAINS
    assert fake.run(clean_up=True) == 0
    assert (fake.steps_run, fake.removals) == ([], 1)
    line = "deletes stack triton-acctest-cpu, left over from an earlier run"
    assert line in capsys.readouterr().out


def test_missing_credentials_are_a_one_line_error(
    fake: FakeAccount, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(account_test, "caller", fail(NoCredentials("there are none")))
    assert fake.run() == 1
    assert capsys.readouterr().err == "error: no credentials: there are none\n"
    assert (fake.steps_run, fake.removals) == ([], 0)


def unfinished_run_elsewhere(fake: FakeAccount) -> None:
    FOLDER.mkdir()
    fake.state.begin("444455556666", REGION)


def run_on_another_machine(fake: FakeAccount) -> None:
    fake.busy = ["triton-acctest-cpu (CREATE_IN_PROGRESS)"]


@pytest.mark.parametrize(
    ("prepare", "region", "message"),
    [
        (lambda _: None, "us-esat-1", 'no AWS region with SageMaker Triton images "us-esat-1"'),
        (
            unfinished_run_elsewhere,
            None,
            "a run in account 444455556666, us-east-1, is unfinished",
        ),
        (
            run_on_another_machine,
            None,
            "triton-acctest-cpu (CREATE_IN_PROGRESS): a run on another machine is in progress",
        ),
    ],
    ids=["unknown region", "unfinished run elsewhere", "run on another machine"],
)
def test_run_that_cannot_start_is_an_error(
    fake: FakeAccount,
    prepare: Callable[[FakeAccount], None],
    region: str | None,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    prepare(fake)
    assert fake.run(region=region) == 1
    assert capsys.readouterr().err.startswith(f"error: {message}")
    assert (fake.steps_run, fake.removals) == ([], 0)


def test_second_run_is_an_error(fake: FakeAccount, capsys: pytest.CaptureFixture[str]) -> None:
    with lock_state(FOLDER):
        assert fake.run() == 1
    assert "error: another run is in progress here" in capsys.readouterr().err
    assert (fake.steps_run, fake.removals) == ([], 0)


def test_stacks_of_own_interrupted_run_are_deleted(fake: FakeAccount) -> None:
    FOLDER.mkdir()
    fake.state.begin(ACCOUNT, REGION)
    fake.busy = ["triton-acctest-cpu (CREATE_IN_PROGRESS)"]
    assert fake.run(clean_up=True) == 0
    assert fake.removals == 1


@pytest.mark.parametrize(("answer", "begins"), [("yes", True), ("", False), ("y", False)])
def test_run_on_a_terminal_asks_for_confirmation(
    fake: FakeAccount, monkeypatch: pytest.MonkeyPatch, answer: str, begins: bool
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("builtins.input", lambda _: answer)
    assert fake.run(yes=False) == (0 if begins else 1)
    assert (bool(fake.steps_run), bool(fake.removals)) == (begins, begins)


def test_run_without_a_terminal_requires_yes_option(
    fake: FakeAccount, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: False))
    assert fake.run(yes=False) == 1
    assert "no terminal for the confirmation: add --yes" in capsys.readouterr().err
    assert (fake.steps_run, fake.removals) == ([], 0)


def test_preflight_refusal_stops_run_before_any_creation(
    fake: FakeAccount, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.refused = ["ml.c5.xlarge for endpoint usage"]
    assert fake.run() == 1
    line = "instances: ml.c5.xlarge for endpoint usage: quota 0: ask for more"
    assert line in capsys.readouterr().err
    assert (fake.steps_run, fake.state.content) == ([], {})


def test_ctrl_c_deletes_everything_and_writes_the_report(
    fake: FakeAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paid_steps, "update", fail(KeyboardInterrupt()))
    assert fake.run() == 130
    assert fake.removals == 2
    assert "update" not in {step["step"] for step in fake.report["steps"]}
    assert fake.report["remaining"] == []


def test_ctrl_c_during_deletion_keeps_state_for_next_run(
    fake: FakeAccount, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def remove_all() -> list[str]:
        if fake.steps_run:
            raise KeyboardInterrupt
        return []

    monkeypatch.setattr(fake, "remove_all", remove_all)
    assert fake.run() == 130
    assert fake.state.content == {"account": ACCOUNT, "region": REGION}
    assert "the deletion was interrupted" in capsys.readouterr().err


def test_failed_step_is_reported_and_later_steps_run(
    fake: FakeAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paid_steps, "scale", fail(StepFailed(f"no, {ACCOUNT}")))
    assert fake.run() == 0
    (problem,) = (step["problem"] for step in fake.report["steps"] if step["problem"])
    assert problem == "StepFailed: no, <account>"
    assert fake.steps_run[-1] == "metrics"


def test_failed_deploy_skips_to_deletion(
    fake: FakeAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paid_steps, "deploy", fail(StepFailed("no")))
    assert fake.run() == 0
    assert fake.steps_run[-1] == "components"
    assert fake.removals == 2


def test_remaining_resources_fail_the_run(
    fake: FakeAccount, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    remaining = ["role triton-acctest-free: no"]
    monkeypatch.setattr(fake, "remove_all", lambda: remaining if fake.steps_run else [])
    assert fake.run() == 1
    assert "error: remains: role triton-acctest-free: no" in capsys.readouterr().err
    assert fake.report["remaining"] == remaining


def test_undeletable_remains_of_earlier_run_stop_the_run(
    fake: FakeAccount, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.remains, fake.remaining = REMAINS, ["stack triton-acctest-cpu: no"]
    assert fake.run() == 1
    assert fake.steps_run == []
    assert "an earlier run's resources remain" in capsys.readouterr().err


def test_report_names_aws_or_emulator_as_source(
    fake: FakeAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    fake.run(free=True)
    assert fake.report["answered_by"] == "AWS"
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
    fake.run(free=True)
    assert fake.report["answered_by"] == "an emulator, whose responses prove nothing about AWS"


def test_price_lines_have_hourly_rate_total_and_source() -> None:
    hours_line, price_line, _ = price.cost_lines("ml.c5.xlarge", REGION, [(1, 60), (4, 30)])
    assert hours_line == "At most 4 instances at once, about 3.0 instance hours (our estimate)."
    assert price_line == (
        "ml.c5.xlarge in us-east-1: 0.204 USD an hour (fmbench 2.1.1, configs/pricing.yml, "
        "2025-02-03); at most 0.82 USD an hour, about 0.61 USD in total."
    )


def test_unknown_price_is_stated() -> None:
    assert "is not in prices.toml" in " ".join(
        price.cost_lines("ml.c5.xlarge", "eu-west-1", [(1, 60)])
    )


def test_checkout_sets_region_options_and_model_factor(
    tmp_path: Path,
) -> None:
    checkout = Checkout.create(ROOT, tmp_path / "app", "eu-west-1")
    assert checkout.stage["region"] == "eu-west-1"
    checkout.configure(server={"log_verbose": 1})
    assert checkout.stage["endpoints"]["cpu"]["server"] == {"log_verbose": 1}
    checkout.set_factor(3)
    model = checkout.path / "models" / "probe" / "probe" / "1" / "model.py"
    assert "FACTOR = 3\n" in model.read_text()
    again = Checkout.create(ROOT, tmp_path / "app", None)
    assert (again.stage["region"], "FACTOR = 2\n" in model.read_text()) == ("us-east-1", True)


def test_docs_contain_the_plan() -> None:
    page = " ".join((ROOT / "docs" / "account-test.md").read_text().split())
    steps = account_test._steps(free=False)
    durations = [(step.instances, step.minutes) for step in steps]
    plan = [*(step.does for step in steps), *price.cost_lines("ml.c5.xlarge", REGION, durations)]
    assert [line for line in plan if line not in page] == []
