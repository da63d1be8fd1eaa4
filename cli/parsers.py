"""Add the parsers of this package's commands."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial

from cli.errors import run_command
from model_build.commands.arguments import Commands

STAGE = "a stage, such as dev"


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    description: str | None,
    *,
    examples: Sequence[str] = (),
    notes: str = "",
    summary: str | None = None,
) -> argparse.ArgumentParser:
    """Add a command whose errors become its exit code; `notes` follow the examples in its help."""
    lines = "".join(f"\n  tritonsm {example}" for example in examples)
    epilog = f"examples:{lines}{notes}" if examples else None
    parser = commands.add_parser(name, description=description, epilog=epilog, help=summary)
    parser.set_defaults(run=partial(run_command, run))
    return parser
