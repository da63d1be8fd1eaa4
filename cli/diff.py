"""`tritonsm diff`: what a deploy of a stage would change, by the pinned cdk CLI."""

import argparse
from pathlib import Path

import cdk_cli
from cli.parsers import STAGE, add_command
from model_build.commands.arguments import Commands
from release.tree import Tree


def add_to(commands: Commands) -> None:
    """Add the command."""
    description = "Compare a stage on disk with what is deployed, as the cdk CLI prints it. "
    description += "`tritonsm review` says in words what a change does."
    parser = add_command(commands, "diff", run, description)
    parser.add_argument("stage", metavar="STAGE", help=STAGE)


def run(options: argparse.Namespace) -> int:
    """Compare; return the exit code of the CLI."""
    Tree(Path.cwd()).stage(options.stage)  # raises where there is none
    return cdk_cli.run_directly("diff", "--no-validation", "-c", f"stage={options.stage}")
