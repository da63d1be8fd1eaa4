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
from account_test.state import FOLDER, State, only_run
from release.preflight.account import Caller, NoCredentials
from release.preflight.findings import CheckFinding, Verdict
from tests.unit.test_repository import ROOT

ACCOUNT, REGION = "111122223333", "us-east-1"
LEFT = {"stack": ["triton-acctest-cpu"]}


class World:
    """Fakes for a run: an account with stacks, and steps that only record their names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.left: dict[str, list[str]] = {}
        self.busy: list[str] = []
        self.remaining: list[str] = []
        self.refused: list[str] = []
        self.done: list[str] = []
        self.removals = 0
        self.state = State(FOLDER / "state.json")

    def do(self, step: str, _: Any) -> None:
        self.done.append(step)

    def find(self) -> dict[str, list[str]]:
        return self.left

    def remove_all(self) -> list[str]:
        self.removals += 1
        self.left = {}
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
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path)
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

    def removal(recorder: Any, state: State) -> World:
        world.state = state
        world.recorder = recorder  # type: ignore[attr-defined]
        return world

    monkeypatch.setattr(account_test, "Removal", removal)
    monkeypatch.setattr(account_test, "operations_in_progress", lambda *_: world.busy)
    who = Caller(ACCOUNT, f"arn:aws:iam::{ACCOUNT}:user/ann")
    monkeypatch.setattr(account_test, "caller", lambda _: who)

    def findings(_: object) -> list[CheckFinding]:
        return [
            CheckFinding(Verdict.REFUSED, subject, "quota 0", "ask for more", check="instances")
            for subject in world.refused
        ]

    monkeypatch.setattr(account_test, "run_checks", findings)
    for number, step in enumerate(account_test._steps(free=False)):
        module = free_steps if number < len(account_test._steps(free=True)) else paid_steps
        do = partial(world.do, step.name)
        monkeypatch.setattr(module, step.name.replace(" ", "_"), do)
    return world


def fail(error: BaseException) -> Callable[[Any], None]:
    def step(_: Any) -> None:
        raise error

    return step


def test_all_steps_run_in_order_before_deletion(world: World) -> None:
    assert world.run() == 0
    assert world.done == [step.name for step in account_test._steps(free=False)]
    assert (world.done[0], world.done[-1]) == ("quotas", "metrics")
    assert world.removals == 2, "once for remains of an earlier run, once after the steps"


def test_free_run_does_only_free_steps(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert world.run(free=True) == 0
    free = ["quotas", "templates", "policies", "configurations", "pools", "components"]
    assert world.done == free
    assert world.report["mode"] == "free"
    assert "USD" not in capsys.readouterr().out


def test_clean_up_runs_no_step(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.left = LEFT
    assert world.run(clean_up=True) == 0
    assert (world.done, world.removals) == ([], 1)
    line = "deletes stack triton-acctest-cpu, left over from an earlier run"
    assert line in capsys.readouterr().out


def test_missing_credentials_are_a_one_line_error(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(account_test, "caller", fail(NoCredentials("there are none")))
    assert world.run() == 1
    assert capsys.readouterr().err == "error: no credentials: there are none\n"
    assert (world.done, world.removals) == ([], 0)


def test_unknown_region_is_an_error(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert world.run(region="us-esat-1") == 1
    assert capsys.readouterr().err.startswith(
        'error: no AWS region with SageMaker Triton images "us-esat-1"'
    )
    assert (world.done, world.removals) == ([], 0)


def test_second_run_is_an_error(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    with only_run(FOLDER):
        assert world.run() == 1
    assert "error: another run is in progress here" in capsys.readouterr().err
    assert (world.done, world.removals) == ([], 0)


def test_unfinished_run_in_another_account_is_an_error(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    FOLDER.mkdir()
    world.state.begin("444455556666", REGION)
    assert world.run() == 1
    assert "a run in account 444455556666, us-east-1, is unfinished" in capsys.readouterr().err
    assert (world.done, world.removals) == ([], 0)


def test_run_from_another_machine_is_an_error(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.busy = ["triton-acctest-cpu (CREATE_IN_PROGRESS)"]
    assert world.run() == 1
    assert "a run on another machine is in progress" in capsys.readouterr().err
    assert (world.done, world.removals) == ([], 0)


def test_stacks_of_own_interrupted_run_are_deleted(world: World) -> None:
    FOLDER.mkdir()
    world.state.begin(ACCOUNT, REGION)
    world.busy = ["triton-acctest-cpu (CREATE_IN_PROGRESS)"]
    assert world.run(clean_up=True) == 0
    assert world.removals == 1


@pytest.mark.parametrize(("answer", "begins"), [("yes", True), ("", False), ("y", False)])
def test_run_on_a_terminal_asks_for_confirmation(
    world: World, monkeypatch: pytest.MonkeyPatch, answer: str, begins: bool
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("builtins.input", lambda _: answer)
    assert world.run(yes=False) == (0 if begins else 1)
    assert (bool(world.done), bool(world.removals)) == (begins, begins)


def test_run_without_a_terminal_requires_yes_option(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: False))
    assert world.run(yes=False) == 1
    assert "no terminal for the confirmation: add --yes" in capsys.readouterr().err
    assert (world.done, world.removals) == ([], 0)


def test_preflight_refusal_stops_run_before_any_creation(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.refused = ["ml.c5.xlarge for endpoint usage"]
    assert world.run() == 1
    line = "instances: ml.c5.xlarge for endpoint usage: quota 0: ask for more"
    assert line in capsys.readouterr().err
    assert (world.done, world.state.content) == ([], {})


def test_ctrl_c_deletes_everything_and_writes_the_report(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paid_steps, "update", fail(KeyboardInterrupt()))
    assert world.run() == 130
    assert world.removals == 2
    assert "update" not in {step["step"] for step in world.report["steps"]}
    assert world.report["remaining"] == []


def test_ctrl_c_during_deletion_keeps_state_for_next_run(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def remove_all() -> list[str]:
        if world.done:
            raise KeyboardInterrupt
        return []

    monkeypatch.setattr(world, "remove_all", remove_all)
    assert world.run() == 130
    assert world.state.content == {"account": ACCOUNT, "region": REGION}
    assert "the deletion was interrupted" in capsys.readouterr().err


def test_failed_step_is_reported_and_later_steps_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paid_steps, "scale", fail(StepFailed(f"no, {ACCOUNT}")))
    assert world.run() == 0
    (problem,) = (step["problem"] for step in world.report["steps"] if step["problem"])
    assert problem == "StepFailed: no, <account>"
    assert world.done[-1] == "metrics"


def test_failed_deploy_skips_to_deletion(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paid_steps, "deploy", fail(StepFailed("no")))
    assert world.run() == 0
    assert world.done[-1] == "components"
    assert world.removals == 2


def test_remaining_resources_fail_the_run(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    remaining = ["role triton-acctest-free: no"]
    monkeypatch.setattr(world, "remove_all", lambda: remaining if world.done else [])
    assert world.run() == 1
    assert "error: remains: role triton-acctest-free: no" in capsys.readouterr().err
    assert world.report["remaining"] == remaining


def test_undeletable_remains_of_earlier_run_stop_the_run(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.left, world.remaining = LEFT, ["stack triton-acctest-cpu: no"]
    assert world.run() == 1
    assert world.done == []
    assert "an earlier run's resources remain" in capsys.readouterr().err


def test_report_names_aws_or_emulator_as_source(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    world.run(free=True)
    assert world.report["answered_by"] == "AWS"
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
    world.run(free=True)
    assert world.report["answered_by"] == "an emulator, whose responses prove nothing about AWS"


def test_price_lines_have_hourly_rate_total_and_source() -> None:
    hours, known, _ = price.lines("ml.c5.xlarge", REGION, [(1, 60), (4, 30)])
    assert hours == "At most 4 instances at once, about 3.0 instance hours (our estimate)."
    assert known == (
        "ml.c5.xlarge in us-east-1: 0.204 USD an hour (fmbench 2.1.1, configs/pricing.yml, "
        "2025-02-03); at most 0.82 USD an hour, about 0.61 USD in total."
    )


def test_unknown_price_is_stated() -> None:
    assert "is not in prices.toml" in " ".join(price.lines("ml.c5.xlarge", "eu-west-1", [(1, 60)]))


def test_checkout_sets_region_options_and_model_factor(
    tmp_path: Path,
) -> None:
    checkout = Checkout.create(ROOT, tmp_path / "app", "eu-west-1")
    assert checkout.stage["region"] == "eu-west-1"
    checkout.configure(server={"log_verbose": 1})
    assert checkout.stage["endpoints"]["cpu"]["server"] == {"log_verbose": 1}
    checkout.multiply_by(3)
    model = checkout.path / "models" / "probe" / "probe" / "1" / "model.py"
    assert "FACTOR = 3\n" in model.read_text()
    again = Checkout.create(ROOT, tmp_path / "app", None)
    assert (again.stage["region"], "FACTOR = 2\n" in model.read_text()) == ("us-east-1", True)


def test_docs_contain_the_plan() -> None:
    page = " ".join((ROOT / "docs" / "account-test.md").read_text().split())
    steps = account_test._steps(free=False)
    known = [(step.instances, step.minutes) for step in steps]
    plan = [*(step.does for step in steps), *price.lines("ml.c5.xlarge", REGION, known)]
    assert [line for line in plan if line not in page] == []
