"""`tritonsm diff`: show the changes that a deploy would make, with the pinned cdk CLI."""

import argparse
import os

from cli.parsers import STAGE, add_command
from delivery import cdk
from model_build import PYTHON_VARIABLE
from model_build.commands.arguments import Commands
from release.checkout import WITHOUT_VALIDATION
from stages.plan import PlannedStage


def add_to(commands: Commands) -> None:
    """Add the command."""
    description = "Compare a stage in the working tree with the deployed stacks, with the output "
    description += "of the cdk CLI. `tritonsm review` explains a change."
    parser = add_command(commands, "diff", run, description)
    parser.add_argument("stage", metavar="STAGE", help=STAGE)


def run(options: argparse.Namespace) -> int:
    """Show the changes; return the exit code of the CLI."""
    # Raises for an invalid stage or model, without the cdk CLI's "Subprocess exited with error 1".
    PlannedStage.load(options.stage, python=os.environ.get(PYTHON_VARIABLE))
    context = "-c", f"stage={options.stage}"
    return cdk.run_directly("diff", *context, environment=WITHOUT_VALIDATION)
