"""Deliver a commit to a stage, look whether it serves as it must, and go back.

Ends with 0 where the stage serves what the commit says; with 1 where nothing was changed, or
CloudFormation took it back; with 2 where it is deployed and wrong.
"""

import argparse
import sys

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from endpoint_client import EndpointError
from release.checkouts import CheckoutError
from release.delivery import golden, smoke
from release.delivery.assembly import synthesised
from release.delivery.delivering import deliver, roll_back
from release.delivery.errors import DeliveredWrong, NotDelivered
from release.delivery.repository import Repository

DELIVERED, NOT_DELIVERED, WRONG = range(3)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return its exit code."""
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as stopped:  # argparse's 2 would say that something wrong is deployed
        return NOT_DELIVERED if stopped.code else DELIVERED
    try:
        options.run(Repository.here(), options)
    except (NotDelivered, CheckoutError) as error:
        print(f"not delivered: {error}", file=sys.stderr)
        return NOT_DELIVERED
    except DeliveredWrong as error:
        print(
            f"deployed, and wrong: {error}\n  Go back: make rollback STAGE={options.stage}",
            file=sys.stderr,
        )
        return WRONG
    except (BotoCoreError, ClientError, EndpointError) as error:
        print(f"not delivered: AWS: {error}", file=sys.stderr)
        return NOT_DELIVERED
    return DELIVERED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m release.delivery",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    deploying = commands.add_parser("deploy", help="deliver what is checked out")
    deploying.add_argument(
        "--from-stage", metavar="STAGE", help="copy archives from this stage's bucket"
    )
    deploying.set_defaults(run=_deploy)

    going_back = commands.add_parser("rollback", help="deliver an earlier commit again")
    going_back.add_argument(
        "--to", metavar="COMMIT", help="a delivered commit; default: the last that went well"
    )
    going_back.set_defaults(run=_roll_back)

    writing = commands.add_parser("golden", help="write what a deployed model answers")
    writing.add_argument("model", metavar="MODEL", help="a folder in models/")
    writing.set_defaults(run=_golden)
    for command in (deploying, going_back, writing):
        command.add_argument("--stage", required=True, help="the stage's name, such as dev")
    return parser


def _deploy(repository: Repository, options: argparse.Namespace) -> None:
    deliver(repository, options.stage, from_stage=options.from_stage)
    print(f"delivered: {options.stage} serves what is checked out")


def _roll_back(repository: Repository, options: argparse.Namespace) -> None:
    stage = options.stage
    commit = roll_back(repository, stage, to=options.to)
    print(
        f"delivered: {stage} serves {commit[:12]} again. The next delivery of main brings back "
        "what is merged there: revert it first"
    )


def _golden(repository: Repository, options: argparse.Namespace) -> None:
    path = repository.models / options.model / golden.FILE
    if not path.is_file():
        raise NotDelivered(
            f"{path} is not there: write its inputs first, such as "
            '{"inputs": {"X": {"datatype": "FP32", "shape": [1, 4], "data": [0.5, -1]}}}'
        )
    session = boto3.Session(region_name=repository.region(options.stage))
    with synthesised(repository, options.stage) as assembly:
        smoke.write_golden(session, options.stage, assembly.endpoints, options.model, path)
    print(path.relative_to(repository.root))


if __name__ == "__main__":
    sys.exit(main())
