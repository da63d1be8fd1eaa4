"""Formatting of the help and errors of all commands.

Colours are rich's: none where the output is no terminal, or NO_COLOR is set (no-color.org).
"""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from rich.console import Console
from rich_argparse import RawDescriptionRichHelpFormatter

from cli.commands import Command

USAGE_CODE = "usage_code"
"""Default of a parser whose exit code for wrong arguments is not argparse's 2."""


class _Help(RawDescriptionRichHelpFormatter):
    group_name_formatter = str.lower


class Parser(argparse.ArgumentParser):
    """A parser whose help has colours, and whose error is one line."""

    def __init__(self, **options: Any) -> None:
        options["formatter_class"] = _Help
        super().__init__(**options)

    def error(self, message: str) -> NoReturn:
        """End the program with the reason."""
        self.exit(self.get_default(USAGE_CODE) or 2, f"error: {message} ({self.prog} --help)\n")


def print_overview(groups: Mapping[str, Sequence[Command]]) -> int:
    """Print all commands, by what they are for; return the exit code."""
    console = Console(highlight=False)
    console.print("usage: tritonsm COMMAND ...   [dim](tritonsm COMMAND --help for details)[/]")
    width = max(len(each.name) for group in groups.values() for each in group)
    for title, commands in groups.items():
        console.print(f"\n[bold]{title}[/]")
        for command in commands:
            console.print(f"  [cyan]{command.name:{width}}[/]  {command.summary}")
    return 0
