"""What an endpoint's Tritons say, a stage's builds, or, without a name, the local SageMaker itself.

The last lines, out of CloudWatch Logs, with --local out of that of the local SageMaker.
"""

import argparse
import re
import sys
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import boto3
from rich.console import Console

from cli.errors import CommandError, exit_code
from cli.logs import emulator, groups, shown
from cli.logs.lines import ERRORS
from cli.logs.tail import EARLIEST, Event, Tail, pattern
from cli.names import stage_of
from local_sagemaker import Folder
from model_build.commands.arguments import Commands
from release.preflight.clients import client
from release.tree import Tree

LINES = 40
PAUSE_SECONDS = 2.0
"""Between two looks; our choice."""
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "logs",
        description=__doc__,
        epilog="examples:\n  tritonsm logs\n  tritonsm logs prod-text --since 1h --grep failed\n"
        "  tritonsm logs local-text --follow --local\n  tritonsm logs local/builds --local",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="an endpoint, such as prod-text, or prod/builds; default: the local SageMaker itself",
    )
    parser.add_argument("--follow", action="store_true", help="go on until Ctrl-C")
    parser.add_argument(
        "--lines", type=_count, default=LINES, metavar="N", help=f"the last N; default: {LINES}"
    )
    parser.add_argument(
        "--since",
        type=_ago,
        metavar="AGO",
        help="none that are older, such as 30s, 10m, 2h or 1d",
    )
    matching = parser.add_mutually_exclusive_group()
    matching.add_argument(
        "--grep", default="", metavar="TEXT", help="those with this text alone, as it is written"
    )
    matching.add_argument("--errors", action="store_true", help="Triton's errors alone")
    parser.add_argument("--json", action="store_true", help="write one JSON object a line")
    parser.set_defaults(run=partial(exit_code, run))


def run(options: argparse.Namespace) -> int:
    """Print the ends of logs; return the exit code."""
    if options.name is None:
        if options.json or options.errors or options.since is not None:
            raise CommandError(
                "the local SageMaker's own log has no --since, --errors or --json: leave it out"
            )
        log = Folder.default().log
        emulator.show(log, lines=options.lines, containing=options.grep, follow=options.follow)
        return 0
    here = Tree(Path.cwd())
    stages = here.stages()
    stage = stage_of(options.name.replace("/", "-"), stages)
    session = boto3.Session(region_name=here.stage(stage).region if stage else None)
    logs = client(session, "logs")
    tails = [
        Tail(logs, it, pattern=ERRORS if options.errors else pattern(options.grep))
        for it in groups.groups(session, options.name, stages)
    ]
    _show(tails, options)
    return 0


def _show(tails: list[Tail], options: argparse.Namespace) -> None:
    console = Console(highlight=False)
    show = shown.as_json if options.json else partial(shown.as_text, console=console)
    since = EARLIEST if options.since is None else datetime.now(UTC) - options.since
    events = sorted((it for tail in tails for it in tail.last(options.lines, since)), key=_at)
    show(events[max(0, len(events) - options.lines) :])
    if not events and not options.follow:
        print("no lines match: the log is empty, has expired, or has no such text", file=sys.stderr)
    while options.follow:
        time.sleep(PAUSE_SECONDS)
        show(sorted((it for tail in tails for it in tail.later()), key=_at))


def _at(event: Event) -> int:
    return event.time


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of lines: write 40, for example"
        )
    return int(text)


def _ago(text: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,5})([smhd])", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration: write 30s, 10m, 2h or 1d")
    return timedelta(**{UNITS[found[2]]: int(found[1])})
