"""`--local`: a command that speaks to AWS speaks to the local AWS."""

import argparse
import os
import sys
from collections.abc import Callable

from local_aws import lifecycle
from local_aws.environment import client_environment
from local_aws.errors import LocalAwsError
from local_aws.folder import Folder, Running


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--local", action="store_true", help="speak to the local AWS (tritonsm up) instead of AWS"
    )


def run(command: Callable[[], int]) -> int:
    """Run a command with the local AWS; return its exit code, 1 where none is up, or stays up."""
    try:
        with lifecycle.while_running(Folder.default(), enter()):
            return command()
    except LocalAwsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def enter() -> Running:
    """Point this process, and what it starts, at the local AWS; return it.

    Raises `LocalAwsError` where none runs.
    """
    folder = Folder.default()
    running = folder.found_running()
    os.environ.update(client_environment(running, folder))
    return running
