"""Show endpoints, models and alarms, and differences from what was delivered.

Without a stage, show all stages in the configured AWS region. Load and latency are on the
CloudWatch dashboard of each endpoint.
"""

import argparse
import json
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path

import boto3

from cli import printable
from cli.parsers import STAGE, add_command
from cli.status.report import read_report
from cli.status.tables import tables
from model_build.commands.arguments import Commands
from release.checkout import Checkout


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "status", run, __doc__)
    parser.add_argument("stage", metavar="STAGE", nargs="?", help=STAGE)
    parser.add_argument("--json", action="store_true", help="write JSON to standard output")


def run(options: argparse.Namespace) -> int:
    """Print the report; return the exit code."""
    console, tree = printable.console(), Checkout(Path.cwd())
    region = tree.stage(options.stage).region if options.stage else None
    report = read_report(boto3.Session(region_name=region), options.stage, tree.stages())
    if options.local:
        differences = [
            replace(difference, command=_local_command(difference.command))
            for difference in report.differences
        ]
        report = replace(report, differences=differences)
    if options.json:
        print(json.dumps(asdict(report), indent=2, default=datetime.isoformat))
    else:
        console.print(tables(report), crop=False)
    return 0


def _local_command(command: str) -> str:
    """Return a difference's command as one for the local SageMaker; sections of docs stay."""
    return command if command.startswith("docs/") else f'eval "$(tritonsm env)" && {command}'
