"""Test the open assumptions of docs/aws.md in an AWS account: `make account-test`.

Deploys a test stage, updates it, makes updates fail, and deletes everything, also after Ctrl-C.
Resources of an interrupted run are deleted first. Details: docs/account-test.md.
"""

import argparse
import os
import signal
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

import platform_facts
from account_test import free_steps, paid_steps, price, report
from account_test.answers import AnswerRecorder
from account_test.checkout import Checkout
from account_test.names import STAGE
from account_test.removal import STACKS, Removal
from account_test.report import StepOutcome
from account_test.run import Run
from account_test.state import FOLDER, RunInProgress, lock_state
from release.delivery.stack_status import operations_in_progress
from release.delivery.steps import say
from release.preflight.account import Account, NoCredentials, caller
from release.preflight.checks import run_checks
from release.preflight.findings import Verdict
from release.tree import CheckoutError

INTERRUPTED_CODE = 128 + signal.SIGINT
STEPS = Path(__file__).with_name("steps.toml")
EMULATOR = "an emulator, whose responses prove nothing about AWS"


class CannotStart(Exception):
    """The run cannot start; the message is the reason."""


@dataclass(frozen=True)
class PlannedStep:
    """A step, with its maximum number of `instances` and estimated duration in `minutes`.

    `does` describes the step, for example "reads quotas".
    """

    name: str
    does: str
    instances: int = 0
    minutes: int = 0

    def run(self, run: Run) -> StepOutcome:
        """Run the step and return its outcome, with the exception if it failed."""
        say(f"{self.name}: {self.does}")
        run.recorder.step, start, problem = self.name, time.monotonic(), ""
        functions = {**vars(free_steps), **vars(paid_steps)}
        function: Callable[[Run], None] = functions[self.name.replace(" ", "_")]
        try:
            function(run)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            say(f"  {problem}")
        return StepOutcome(self.name, round(time.monotonic() - start, 1), problem)


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command; its `run` returns the exit code."""
    parser = commands.add_parser(
        "account-test", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--region", help="default: that of account_test/stage.yaml")
    parser.add_argument("--free", action="store_true", help="only the steps that cost nothing")
    parser.add_argument(
        "--clean-up", action="store_true", help="only delete the remains of an earlier run"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    parser.add_argument(
        "--report", type=Path, default="account-test.json", help="default: account-test.json"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command; return 0 if all steps ran (even with problems) and nothing remains."""
    try:
        with lock_state(FOLDER) as state:
            if options.region:
                platform_facts.region(options.region)
            checkout = Checkout.create(Path.cwd(), FOLDER.absolute() / "app", options.region)
            session = boto3.Session(region_name=checkout.stage["region"])
            identity = caller(session)
            checkout.synthesise()
            account = Account(session, identity, STAGE, checkout.assembly)
            recorder = AnswerRecorder(session)
            return _run(Run(recorder, checkout, account), Removal(recorder, state), options)
    except NoCredentials as error:
        print(f"error: no credentials: {error}", file=sys.stderr)
    except (CheckoutError, RunInProgress, CannotStart, platform_facts.UnknownFact) as error:
        print(f"error: {error}", file=sys.stderr)
    except (BotoCoreError, ClientError) as error:
        print(f"error: AWS: {error}", file=sys.stderr)
    return 1


def _run(run: Run, removal: Removal, options: argparse.Namespace) -> int:
    account, region = run.account.caller.account, run.account.region
    _check_other_runs(removal, account, region)
    remains = removal.find()
    steps = [] if options.clean_up else _steps(free=options.free)
    for line in _plan(run, steps, remains):
        say(line)
    if not (options.yes or _confirmed()):
        raise CannotStart("not confirmed: nothing was created or deleted")
    if remaining := removal.remove_all():
        raise CannotStart("an earlier run's resources remain:\n  " + "\n  ".join(remaining))
    if not steps:
        return 0
    if not options.free:
        _check_preflight(run)
    removal.state.begin(account, region)
    return _run_steps(run, removal, steps, options)


def _steps(*, free: bool) -> list[PlannedStep]:
    tables = tomllib.loads(STEPS.read_text())
    return [PlannedStep(**step) for kind in ("free", "paid")[: 2 - free] for step in tables[kind]]


def _check_other_runs(removal: Removal, account: str, region: str) -> None:
    """Raise `CannotStart` if another run is in progress here, or unfinished elsewhere."""
    state = removal.state.content
    if "account" in state and (state["account"], state["region"]) != (account, region):
        raise CannotStart(
            f"a run in account {state['account']}, {state['region']}, is unfinished: run there "
            "with --clean-up first"
        )
    stacks = operations_in_progress(removal.recorder.client("cloudformation"), STACKS)
    if stacks and not state:
        raise CannotStart(
            f"{', '.join(stacks)}: a run on another machine is in progress or was interrupted: try "
            "again later"
        )


def _plan(run: Run, steps: Sequence[PlannedStep], remains: dict[str, list[str]]) -> Iterator[str]:
    yield f"In account {run.account.caller.account}, {run.account.region}, this run"
    for kind, names in remains.items():
        yield from (f"  deletes {kind} {name}, left over from an earlier run" for name in names)
    for step in steps:
        yield f"  {step.does}"
    if any(step.instances for step in steps):
        durations = [(step.instances, step.minutes) for step in steps]
        yield from price.cost_lines(run.checkout.instance_type, run.account.region, durations)
        yield f"It takes about {sum(step.minutes for step in steps)} minutes (our estimate)."
    else:
        yield "These steps are free according to AWS's documentation: docs/account-test.md."


def _confirmed() -> bool:
    if not sys.stdin.isatty():
        raise CannotStart("no terminal for the confirmation: add --yes")
    return input("Type yes to continue: ").strip() == "yes"


def _check_preflight(run: Run) -> None:
    lines = [
        f"{finding.check}: {finding.subject}: {finding.message}: {finding.fix}"
        for finding in run_checks(run.account)
        if finding.verdict is Verdict.REFUSED
    ]
    if lines:
        raise CannotStart("the account is not ready:\n  " + "\n  ".join(lines))


def _run_steps(
    run: Run, removal: Removal, steps: Sequence[PlannedStep], options: argparse.Namespace
) -> int:
    """Run the steps, delete everything and write the report, also after Ctrl-C."""
    outcomes, code = list[StepOutcome](), 0
    remaining = ["unknown: the deletion was interrupted; the next run continues it"]
    try:
        for step in steps:
            outcomes.append(step.run(run))
            if step.name == "deploy" and outcomes[-1].problem:
                break
    except KeyboardInterrupt:
        code = INTERRUPTED_CODE
        say("interrupted: deleting everything; after another Ctrl-C, the next run continues")
    try:
        say("removal: deletes everything")
        remaining = removal.remove_all()
    except KeyboardInterrupt:
        code = INTERRUPTED_CODE
    stage, secrets = run.checkout.stage, {str(Path.cwd()): ".", str(Path.home()): "~"}
    metadata = {
        "answered_by": EMULATOR if "AWS_ENDPOINT_URL" in os.environ else "AWS",
        "mode": "free" if options.free else "full",
        "region": stage["region"],
        "release": stage["release"],
        "instance_type": run.checkout.instance_type,
    }
    content = report.content(metadata, run.recorder.answers, outcomes, remaining, secrets)
    for line in report.write(options.report, content):
        say(line)
    say(f"report: {options.report}")
    for resource in remaining:
        print(f"error: remains: {resource}", file=sys.stderr)
    return code or int(bool(remaining))
