"""Format of the help and error messages of all commands.

rich omits colours if the output is not a terminal, or if NO_COLOR is set (no-color.org).
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from rich.console import Console
from rich_argparse import RawDescriptionRichHelpFormatter

from cli.commands import Command

USAGE_CODE = "usage_code"
"""Name of a parser's default with its exit code for wrong arguments, if that is not 2."""


class _Help(RawDescriptionRichHelpFormatter):
    group_name_formatter = str.lower


class Parser(argparse.ArgumentParser):
    """A parser with coloured help and errors of one line."""

    def print_help(self, file: Any = None) -> None:
        """Print the help with its colours, which `cli.printable` would escape."""
        super().print_help(file or getattr(sys.stdout, "rich_proxied_file", sys.stdout))

    def __init__(self, **options: Any) -> None:
        options["formatter_class"] = _Help
        super().__init__(**options)

    def error(self, message: str) -> NoReturn:
        """Exit with an error message."""
        self.exit(self.get_default(USAGE_CODE) or 2, f"error: {message} ({self.prog} --help)\n")


def print_overview(groups: Mapping[str, Sequence[Command]]) -> int:
    """Print all commands by group; return the exit code."""
    console = Console(highlight=False)
    console.print("usage: tritonsm COMMAND ...   [dim](tritonsm COMMAND --help for details)[/]")
    width = max(len(command.name) for group in groups.values() for command in group)
    for title, commands in groups.items():
        console.print(f"\n[bold]{title}[/]")
        for command in commands:
            console.print(f"  [cyan]{command.name:{width}}[/]  {command.summary}")
    return 0
