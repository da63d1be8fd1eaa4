"""Check that the account can deploy a stage: `tritonsm preflight prod`.

Changes nothing. Exit code 0: no finding is refused. 1: a finding is refused, or AWS cannot be
reached. 130: interrupted. Unknown findings do not change the exit code.
"""

import argparse
import sys

from botocore.exceptions import BotoCoreError, ClientError

from delivery.preflight.account import NoCredentials, Verdict, account_of, as_json, table
from delivery.preflight.checks import run_checks
from release.checkout import CheckoutError, GitCheckout

NOTHING_REFUSED, REFUSED = range(2)


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command `preflight`; its `run` returns the exit code."""
    parser = commands.add_parser("preflight", description=__doc__)
    parser.add_argument("stage", metavar="STAGE", help="the stage's name, such as prod")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the findings; return the exit code."""
    try:
        with account_of(GitCheckout.of_working_directory(), options.stage) as account:
            findings = list(run_checks(account))
    except NoCredentials as error:
        print(f"error: no credentials: {error}", file=sys.stderr)
    except CheckoutError as error:
        print(f"error: {error}", file=sys.stderr)
    except (BotoCoreError, ClientError) as error:
        print(f"error: AWS: {error}", file=sys.stderr)
    else:
        print(as_json(findings) if options.json else table(findings))
        is_refused = any(finding.verdict is Verdict.REFUSED for finding in findings)
        return REFUSED if is_refused else NOTHING_REFUSED
    return REFUSED
