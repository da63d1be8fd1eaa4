"""`tritonsm destroy`: delete the stacks of a stage with the pinned cdk CLI."""

import argparse
import sys
from pathlib import Path

from cli.deploy import run_cdk
from cli.errors import CommandError
from cli.parsers import STAGE, add_command
from model_build.commands.arguments import Commands
from release.checkout import Checkout


def add_to(commands: Commands) -> None:
    """Add the command."""
    description = 'Delete the stacks of a stage and its endpoints. docs/stages.md, "Delete a '
    description += 'stage", lists what is kept.'
    parser = add_command(commands, "destroy", run, description)
    parser.add_argument("stage", metavar="STAGE", help=STAGE)
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def run(options: argparse.Namespace) -> int:
    """Delete the stacks after a confirmation; return the exit code."""
    stage = options.stage
    Checkout(Path.cwd()).stage(stage)  # raises if there is no such stage
    if not (options.yes or _confirmed(stage)):
        raise CommandError("nothing was destroyed")
    run_cdk("destroy", stage, "--all", "--force")
    print(f"destroyed: {stage}")
    return 0


def _confirmed(stage: str) -> bool:
    if not sys.stdin.isatty():
        raise CommandError("no terminal for the confirmation: add --yes")
    return input(f"Delete the stacks of {stage}? Write its name: ") == stage
