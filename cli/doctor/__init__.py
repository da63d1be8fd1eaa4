"""What this machine has and lacks for what one can do here, and what to do about it.

Exit code 1 where `make demo` cannot run. Nothing needs Docker. Of AWS nothing is asked: `tritonsm
preflight` says what the account lacks.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.doctor import aws_cli, local, machine, packages, shell, triton
from cli.doctor.finding import Finding, State
from local_sagemaker import Folder

if TYPE_CHECKING:  # what is not installed is found, and not needed
    from model_build.commands.arguments import Commands

MARKS = {
    State.OK: Text("✓", "green"),
    State.WARNING: Text("!", "yellow"),
    State.MISSING: Text("✗", "red"),
}


def add_to(commands: "Commands") -> None:
    """Add the command."""
    parser = commands.add_parser("doctor", description=__doc__)
    parser.add_argument("--json", action="store_true", help="write JSON to standard output")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what was found; return the exit code."""
    found = list(_findings(Path.cwd()))
    if options.json:
        print(json.dumps([asdict(it) for it in found], indent=2))
    else:
        _show(found)
    return 1 if any(it.state is State.MISSING for it in found) else 0


def _findings(root: Path) -> Iterator[Finding]:
    yield from triton.findings()
    yield from packages.findings(root)
    yield from machine.findings(root)
    yield from shell.findings()
    yield from aws_cli.findings()
    yield from local.findings(Folder.default(), root)


def _show(found: Sequence[Finding]) -> None:
    table = Table("", "check", "found", "what to do", box=None, pad_edge=False)
    for it in found:
        table.add_row(MARKS[it.state], Text(it.check), Text(it.found), Text(it.do))
    Console(highlight=False).print(table)
