"""The commands `deliver`, `rollback-stage` and `golden`."""

import argparse
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from delivery import smoke
from delivery.deliver import deliver, roll_back
from delivery.errors import DeliveryError, ModelsKept, NotDelivered, explain_error
from delivery.verify import VerifiedStage
from endpoint_client import EndpointError
from plan import golden
from plan.archives import ArchiveReplaced
from plan.golden import InvalidGolden
from release.artefact import ReleaseArtefact
from release.build import with_history
from release.checkout import Checkout, CheckoutError, GitCheckout

DELIVERED = 0
INTERRUPTED = 128 + signal.SIGINT
EXIT_CODES = """\
Exit code 0: the stage serves the release. 1: nothing was changed, or CloudFormation rolled the
change back. 2: the release is deployed and does not work, or CloudFormation could not roll it back.
3: the delivery was interrupted, its credentials have expired, or AWS did not answer; AWS finishes
the operations in progress: run the same command again once no build runs in CodeBuild. 4: the
catalog was changed by hand; the message has the command that resolves it. 5: the stage serves the
release, except models that could not be built, of endpoints with `on_failure: keep`. 130: the
delivery was interrupted before it changed anything.
"""
GOLDEN_EXIT_CODES = """\
Exit code 0: models/MODEL/tests/golden.json is written. 1: it is not.
"""
SWITCHES = {
    "--take-over": "start even if another delivery is in progress, for example one that was "
    "killed, or stacks were deployed by hand",
    "--ignore-preflight": "print the refusals of the preflight, and continue",
    "--allow-older": "deliver a release whose commit does not contain the stage's live commit",
}

RELEASE = Path("release.out")
"""The folder into which `tritonsm release build` writes by default."""

RunCommand = Callable[[argparse.Namespace], None]


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands; `run` returns the exit code, `usage_code` is for wrong arguments."""

    def add_command(
        name: str, run: RunCommand, summary: str, *switches: str, exit_codes: str = EXIT_CODES
    ) -> argparse.ArgumentParser:
        parser = commands.add_parser(
            name,
            help=summary,
            description=f"{summary.capitalize()}.\n\n{exit_codes}",
            allow_abbrev=False,  # the review finds switches in workflows by their names
        )
        parser.add_argument("stage", metavar="STAGE", help="the stage's name, such as dev")
        for switch in switches:
            parser.add_argument(switch, action="store_true", help=SWITCHES[switch])
        parser.set_defaults(run=partial(_run_and_report, run), usage_code=NotDelivered.exit_code)
        return parser

    deliver_parser = add_command(
        "deliver", _deliver, "deploy a release and test every model", *SWITCHES
    )
    deliver_parser.add_argument(
        "--release", type=Path, default=RELEASE, help=f"a release's folder; default: {RELEASE}"
    )
    deliver_parser.add_argument("--digest", help="the digest that the release must have")
    deliver_parser.add_argument(
        "--commit",
        help="the release's commit in this clone, whose history replaces that in release.json",
    )
    deliver_parser.add_argument(
        "--from-stage", metavar="STAGE", help="copy archives from this stage's bucket"
    )
    summary = "deploy the endpoints of an earlier delivery's release"
    add_command("rollback-stage", _roll_back, summary, "--take-over").add_argument(
        "--to",
        metavar="RELEASE",
        help="the digest of a delivered release, or its commit; default: the last successful one "
        "of another release, or of any if the newest delivery failed",
    )
    summary = "write the expected outputs of a deployed model"
    add_command("golden", _golden, summary, exit_codes=GOLDEN_EXIT_CODES).add_argument(
        "model", metavar="MODEL", help="a folder in models/"
    )


def _run_and_report(run: RunCommand, options: argparse.Namespace) -> int:
    """Run a command, print its error and return the exit code."""
    try:
        run(options)
    except DeliveryError as error:
        advice = error.advice.format(stage=options.stage)
        print(f"{error.label}: {error}{advice}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("not delivered: interrupted before it changed anything", file=sys.stderr)
        return INTERRUPTED
    except (ArchiveReplaced, CheckoutError, InvalidGolden) as error:
        print(f"not delivered: {error}", file=sys.stderr)
    except (BotoCoreError, ClientError, EndpointError) as error:
        print(f"not delivered: {explain_error(error)}", file=sys.stderr)
    else:
        return DELIVERED
    return NotDelivered.exit_code


def _deliver(options: argparse.Namespace) -> None:
    release = ReleaseArtefact.load(options.release, expected=options.digest)
    if options.commit is not None:
        release = with_history(release, GitCheckout.of_working_directory(), options.commit)
    verified = deliver(
        release,
        options.stage,
        from_stage=options.from_stage,
        ignore_preflight=options.ignore_preflight,
        allow_older=options.allow_older,
        take_over=options.take_over,
    )
    _warn_about(verified.uninvoked_models)
    _report(verified, f"delivered: {options.stage} serves release {release.name}")


def _roll_back(options: argparse.Namespace) -> None:
    stage, session = options.stage, _session(options.stage)
    name, verified = roll_back(session, stage, to=options.to, take_over=options.take_over)
    _warn_about(verified.uninvoked_models)
    _report(
        verified,
        f"delivered: {stage} serves {name} again. main still has the bad change: revert it "
        "before the next delivery",
    )


def _report(verified: VerifiedStage, text: str) -> None:
    """Print the end of a delivery. Raise `ModelsKept` if models could not be built."""
    if verified.unbuilt_models:
        raise ModelsKept("\n  ".join(verified.unbuilt_models))
    print(text)


def _warn_about(uninvoked_models: list[str]) -> None:
    if uninvoked_models:
        print(
            f"! not tested, because models/NAME/{golden.FILE} is missing or has no inputs: "
            f"{', '.join(uninvoked_models)}"
        )


def _golden(options: argparse.Namespace) -> None:
    path = Path("models", options.model, golden.FILE)
    if not path.is_file():
        raise NotDelivered(f"{path} does not exist: write its inputs first (docs/runbook.md)")
    smoke.write_golden(_session(options.stage), options.stage, options.model, path)
    print(path)


def _session(stage: str) -> boto3.Session:
    """Return a session in the region of the stage's file in the working directory."""
    return boto3.Session(region_name=Checkout(Path.cwd()).stage(stage).region)
