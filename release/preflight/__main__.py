"""Ask the account what a deploy of a stage would need: `tritonsm preflight prod`.

Changes nothing, but for --changesets, which makes and removes change sets. Exit code 0: nothing is
refused. 1: something is, or AWS could not be asked at all. 130: it was interrupted; what it had
made is removed. A row that is unknown does not count.
"""

import argparse
import signal
import sys

from botocore.exceptions import BotoCoreError, ClientError

from release.checkouts import Clone
from release.preflight import change_sets, rendering
from release.preflight.account import Account
from release.preflight.asking import rows_of
from release.preflight.preflight import NoCredentials, account_of
from release.preflight.rows import Verdict
from release.preflight.topics import ALL
from release.tree import CheckoutError

NOTHING_REFUSED, REFUSED = range(2)
INTERRUPTED = 128 + signal.SIGINT


def main(arguments: list[str] | None = None) -> int:
    """Run; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m release")
    add_to(parser.add_subparsers())
    given = sys.argv[1:] if arguments is None else arguments
    return run(parser.parse_args(["preflight", *given]))


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command `preflight`; its `run` returns the exit code."""
    parser = commands.add_parser(
        "preflight", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stage", metavar="STAGE", help="the stage's name, such as prod")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    parser.add_argument(
        "--changesets",
        action="store_true",
        help="have CloudFormation validate change sets, which are removed again",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Ask; return the exit code."""
    try:
        with account_of(Clone.here(), options.stage) as account:
            return _run(account, options)
    except NoCredentials as error:
        print(f"error: no credentials: {error}", file=sys.stderr)
    except CheckoutError as error:
        print(f"error: {error}", file=sys.stderr)
    except (BotoCoreError, ClientError) as error:
        print(f"error: AWS cannot be asked: {error}", file=sys.stderr)
    except KeyboardInterrupt as interrupt:
        left = "; ".join(getattr(interrupt, "__notes__", ())) or "what was made is removed"
        print(f"interrupted: {left}", file=sys.stderr)
        return INTERRUPTED
    return REFUSED


def _run(account: Account, options: argparse.Namespace) -> int:
    topics = (*ALL, (change_sets.TOPIC, change_sets.ask)) if options.changesets else ALL
    rows = list(rows_of(topics, account))
    print(rendering.as_json(rows) if options.json else rendering.table(rows))
    refused = any(it.verdict is Verdict.REFUSED for it in rows)
    return REFUSED if refused else NOTHING_REFUSED


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # how GitHub ends a job
    sys.exit(main())
