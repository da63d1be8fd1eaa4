"""`tritonsm diff`: what a deploy of a stage would change, by the pinned cdk CLI."""

import argparse
from functools import partial
from pathlib import Path

import cdk_cli
from cli.errors import exit_code
from model_build.commands.arguments import Commands
from release.tree import Tree


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "diff",
        description="Compare a stage on disk with what is deployed, as the cdk CLI prints it. "
        "`tritonsm review` says in words what a change does.",
    )
    parser.add_argument("stage", metavar="STAGE", help="a stage, such as dev")
    parser.set_defaults(run=partial(exit_code, run))


def run(options: argparse.Namespace) -> int:
    """Compare; return the exit code of the CLI."""
    Tree(Path.cwd()).stage(options.stage)  # raises where there is none
    return cdk_cli.run_directly("diff", "--no-validation", "-c", f"stage={options.stage}")
