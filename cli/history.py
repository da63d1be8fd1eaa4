"""List the deliveries, rollbacks, publications and retirements of a stage, with their results."""

import argparse
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import boto3
from rich.table import Table
from rich.text import Text

from cli.errors import CommandError
from cli.parsers import STAGE, add_command
from cli.printable import console
from delivery.bucket import model_bucket
from model_build.commands.arguments import Commands
from plan import stage_record
from plan.deployed import models_stack
from plan.stage_record import Event
from platform_facts.rules.bucket_keys import HISTORY
from release.checkout import Checkout
from review.escaping import printable

DEFAULT_EVENTS = 20
COLOURS = {"delivered": "green", "done": "green", "started": "yellow"}
MAX_MODELS = 3
"""Number of models in a row of the table; `--json` has all."""


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "history", run, __doc__)
    parser.add_argument("stage", metavar="STAGE", help=STAGE)
    parser.add_argument("--json", action="store_true", help="write JSON to standard output")
    parser.add_argument(
        "--last",
        type=int,
        default=DEFAULT_EVENTS,
        metavar="N",
        help=f"events to show; default: {DEFAULT_EVENTS}",
    )


def run(options: argparse.Namespace) -> int:
    """Print the events, the newest first; return the exit code."""
    session = boto3.Session(region_name=Checkout(Path.cwd()).stage(options.stage).region)
    bucket = model_bucket(session.client("cloudformation"), options.stage)
    if bucket is None:
        raise CommandError(
            f"there is no stack {models_stack(options.stage)}: make deliver STAGE={options.stage}"
        )
    events = list(stage_record.read(session.client("s3"), bucket, latest=options.last))
    if options.json:
        print(json.dumps([asdict(event) for event in events], indent=2))
    elif events:
        console().print(_table(events))
    else:
        print(f"there are no events in s3://{bucket}/{HISTORY}")
    return 0


def _table(events: Iterable[Event]) -> Table:
    table = Table(
        "started (UTC)",
        "action",
        "result",
        "actor",
        "release and commit, models",
        box=None,
        pad_edge=False,
    )
    for event in events:
        table.add_row(
            Text(printable(f"{event.begun[:10]} {event.begun[11:19]}")),
            Text(printable(event.action)),
            Text(printable(event.result), COLOURS.get(event.result, "red")),
            Text(printable(event.who.rpartition(":")[2])),
            Text(printable(_subject(event))),
        )
    return table


def _subject(event: Event) -> str:
    """Return release, commit, versions of its first models, and the first line of its error."""
    versions = [f"{name} {version}" for name, version in event.versions.items()]
    if len(versions) > MAX_MODELS:
        versions[MAX_MODELS:] = [f"and {len(versions) - MAX_MODELS} more"]
    names = " ".join(name[:12] for name in (event.release, event.commit) if name)
    parts = [*filter(None, [names]), ", ".join(versions)]
    return "\n".join([": ".join(parts), *event.message.splitlines()[:1]])
