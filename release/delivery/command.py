"""The commands `deliver`, `rollback-stage` and `golden`."""

import argparse
import signal
import sys
from collections.abc import Callable
from functools import partial

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from endpoint_client import EndpointError
from release.checkouts import Clone
from release.delivery import golden, smoke
from release.delivery.assembly import synthesise_stage
from release.delivery.delivering import deliver, roll_back
from release.delivery.errors import DeliveryError, NotDelivered, explain_error
from release.tree import CheckoutError

DELIVERED = 0
INTERRUPTED = 128 + signal.SIGINT
EXIT_CODES = """\
Exit code 0: the stage serves the commit. 1: nothing was changed, or CloudFormation rolled the
change back. 2: the commit is deployed and does not work, or CloudFormation could not roll it back.
3: the delivery was interrupted, its credentials have expired, or AWS did not answer; AWS finishes
the operations in progress: run the same command again once no build runs in CodeBuild. 4: the
catalog was changed by hand; the message has the command that resolves it. 130: the delivery was
interrupted before it changed anything.
"""
GOLDEN_EXIT_CODES = """\
Exit code 0: models/MODEL/tests/golden.json is written. 1: it is not.
"""
SWITCHES = {
    "--take-over": "start even if another delivery is in progress, for example one that was killed",
    "--ignore-preflight": "print the refusals of the preflight, and continue",
    "--allow-older": "deliver a commit that does not contain the stage's live commit",
}

RunCommand = Callable[[Clone, argparse.Namespace], None]


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands; `run` returns the exit code, `usage_code` is for wrong arguments."""

    def add_command(
        name: str, run: RunCommand, summary: str, *switches: str, exit_codes: str = EXIT_CODES
    ) -> argparse.ArgumentParser:
        parser = commands.add_parser(
            name,
            help=summary,
            description=f"{summary.capitalize()}.\n\n{exit_codes}",
        )
        parser.add_argument("stage", metavar="STAGE", help="the stage's name, such as dev")
        for switch in switches:
            parser.add_argument(switch, action="store_true", help=SWITCHES[switch])
        parser.set_defaults(run=partial(_run_and_report, run), usage_code=NotDelivered.exit_code)
        return parser

    add_command(
        "deliver", _deliver, "deploy the checked-out commit and test every model", *SWITCHES
    ).add_argument("--from-stage", metavar="STAGE", help="copy archives from this stage's bucket")
    summary = "deploy the commit of an earlier delivery"
    add_command("rollback-stage", _roll_back, summary, "--take-over").add_argument(
        "--to", metavar="COMMIT", help="a delivered commit; default: the last that succeeded"
    )
    summary = "write the expected outputs of a deployed model"
    add_command("golden", _golden, summary, exit_codes=GOLDEN_EXIT_CODES).add_argument(
        "model", metavar="MODEL", help="a folder in models/"
    )


def _run_and_report(run: RunCommand, options: argparse.Namespace) -> int:
    """Run a command, print its error and return the exit code."""
    try:
        run(Clone.of_working_directory(), options)
    except DeliveryError as error:
        advice = error.advice.format(stage=options.stage)
        print(f"{error.label}: {error}{advice}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("not delivered: interrupted before it changed anything", file=sys.stderr)
        return INTERRUPTED
    except CheckoutError as error:
        print(f"not delivered: {error}", file=sys.stderr)
    except (BotoCoreError, ClientError, EndpointError) as error:
        print(f"not delivered: {explain_error(error)}", file=sys.stderr)
    else:
        return DELIVERED
    return NotDelivered.exit_code


def _deliver(clone: Clone, options: argparse.Namespace) -> None:
    uninvoked_models = deliver(
        clone,
        options.stage,
        from_stage=options.from_stage,
        ignore_preflight=options.ignore_preflight,
        allow_older=options.allow_older,
        take_over=options.take_over,
    )
    _warn_about(uninvoked_models)
    print(f"delivered: {options.stage} serves the checked-out commit")


def _roll_back(clone: Clone, options: argparse.Namespace) -> None:
    stage = options.stage
    commit, uninvoked_models = roll_back(clone, stage, to=options.to, take_over=options.take_over)
    _warn_about(uninvoked_models)
    print(
        f"delivered: {stage} serves {commit[:12]} again. main still has the bad change: revert it "
        "before the next delivery"
    )


def _warn_about(uninvoked_models: list[str]) -> None:
    if uninvoked_models:
        print(
            f"! not tested, because models/NAME/{golden.FILE} is missing or has no inputs: "
            f"{', '.join(uninvoked_models)}"
        )


def _golden(clone: Clone, options: argparse.Namespace) -> None:
    path = clone.models / options.model / golden.FILE
    if not path.is_file():
        raise NotDelivered(f"{path} does not exist: write its inputs first (docs/runbook.md)")
    session = boto3.Session(region_name=clone.stage(options.stage).region)
    with synthesise_stage(clone, options.stage) as assembly:
        names = [endpoint.short_name for endpoint in assembly.endpoints]
    smoke.write_golden(session, options.stage, names, options.model, path)
    print(path.relative_to(clone.root))
