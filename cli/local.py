"""`--local`: a command that speaks to AWS speaks to the local AWS."""

import argparse
import os
import sys

from local_aws.environment import client_environment
from local_aws.errors import LocalAwsError
from local_aws.folder import Folder


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--local", action="store_true", help="speak to the local AWS (tritonsm up) instead of AWS"
    )


def enter() -> bool:
    """Point this process, and what it starts, at the local AWS; say why where none runs."""
    folder = Folder.default()
    try:
        os.environ.update(client_environment(folder.found_running(), folder))
    except LocalAwsError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return False
    return True
