"""What is deployed, what it does, and what is wrong with it: tables, or JSON with all of it.

Without a stage, everything on the local SageMaker.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import boto3
from rich.console import Console, Group, RenderableType
from rich.live import Live

from cli import local, printable
from cli.errors import CommandError, exit_code
from cli.status.asked import report
from cli.status.local_state import LocalState
from cli.status.report import Report
from cli.status.scope import Scope
from cli.status.tables import tables
from local_sagemaker import Folder
from model_build.commands.arguments import Commands
from release.tree import Tree

PAUSE_SECONDS = 2.0
"""Between two looks of `--watch`."""


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser("status", description=__doc__)
    parser.add_argument("stage", metavar="STAGE", nargs="?", help="a stage, such as dev")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="write JSON to standard output")
    shown.add_argument("--watch", action="store_true", help="draw it again and again until Ctrl-C")
    parser.set_defaults(run=partial(exit_code, run))


def run(options: argparse.Namespace) -> int:
    """Print it; return the exit code."""
    console = printable.console()
    if options.watch and not console.is_terminal:
        raise CommandError("--watch draws on a terminal: leave it out, or use --json")
    here = Tree(Path.cwd())
    region = here.stage(options.stage).region if options.stage else None
    running = local.enter() if options.local or not options.stage else None
    session = boto3.Session(region_name=region)
    scope = Scope(options.stage, here.stages())

    def ask() -> Report:
        state = LocalState.ask(running.url) if running else None
        return report(session, scope, now=datetime.now(UTC), local=state)

    if options.json:
        print(json.dumps(asdict(ask()), indent=2, default=datetime.isoformat))
        return 0
    heading = f"local SageMaker at {running.url}, log {Folder.default().log}\n" if running else ""
    if options.watch:
        _watch(lambda: Group(heading, tables(ask())), console)
    if heading:
        console.print(heading, soft_wrap=True)
    console.print(tables(ask()), crop=False)
    return 0


def _watch(drawn: Callable[[], RenderableType], console: Console) -> None:
    with Live(drawn(), console=console, auto_refresh=False) as live:
        while True:
            time.sleep(PAUSE_SECONDS)
            live.update(drawn(), refresh=True)
