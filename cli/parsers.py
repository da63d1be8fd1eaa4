"""Add the parsers of this package's commands."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial

from cli.errors import exit_code
from model_build.commands.arguments import Commands

STAGE = "a stage, such as dev"


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    description: str | None,
    *,
    examples: Sequence[str] = (),
    more: str = "",
    summary: str | None = None,
) -> argparse.ArgumentParser:
    """Add a command whose errors become its exit code; `more` follows the examples in its help."""
    lines = "".join(f"\n  tritonsm {example}" for example in examples)
    epilog = f"examples:{lines}{more}" if examples else None
    parser = commands.add_parser(name, description=description, epilog=epilog, help=summary)
    parser.set_defaults(run=partial(exit_code, run))
    return parser
