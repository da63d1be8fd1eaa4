"""What is deployed: endpoints, their instances, and the models that the catalog names.

Without a stage, everything on the local AWS.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import boto3
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cli import local
from cli.errors import exit_code
from local_aws.folder import Folder
from model_build.commands.arguments import Commands
from release import parameters
from release.tree import Tree

COLOURS = {"InService": "green", "Failed": "red", "OutOfService": "red"}
"""Of an endpoint's status; the others pass. Source: SageMaker API reference, DescribeEndpoint."""


@dataclass(frozen=True)
class Row:
    """An endpoint: variants with their instances, current of desired, and models by version."""

    endpoint: str
    status: str
    variants: dict[str, str]
    models: dict[str, str]


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser("status", description=__doc__)
    parser.add_argument("stage", metavar="STAGE", nargs="?", help="a stage, such as dev")
    parser.add_argument("--json", action="store_true", help="write JSON to standard output")
    parser.set_defaults(run=partial(exit_code, run))


def run(options: argparse.Namespace) -> int:
    """Print a table; return the exit code."""
    if options.local or not options.stage:
        running = local.enter()
        if not options.json:
            print(f"local AWS at {running.url}, log {Folder.default().log}")
    region = Tree(Path.cwd()).stage(options.stage).region if options.stage else None
    rows = list(_rows(boto3.Session(region_name=region), options.stage))
    if options.json:
        print(json.dumps([asdict(it) for it in rows], indent=2))
    elif rows:
        _show(rows)
    else:
        print("no endpoint is deployed")
    return 0


def _rows(session: boto3.Session, stage: str | None) -> Iterator[Row]:
    models = _catalog(session, stage)
    sagemaker = session.client("sagemaker")
    for page in sagemaker.get_paginator("list_endpoints").paginate(SortBy="Name"):
        for name in (it["EndpointName"] for it in page["Endpoints"]):
            if stage is None or name.startswith(f"{stage}-"):
                found = sagemaker.describe_endpoint(EndpointName=name)
                variants = {
                    it["VariantName"]: _instances(it) for it in found.get("ProductionVariants", ())
                }
                yield Row(name, found["EndpointStatus"], variants, models[name])


def _catalog(session: boto3.Session, stage: str | None) -> Mapping[str, dict[str, str]]:
    """Return endpoint -> model -> version."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    root = f"{parameters.ROOT}{stage}/" if stage else parameters.ROOT
    pages = session.client("ssm").get_paginator("get_parameters_by_path")
    for page in pages.paginate(Path=root, Recursive=True):
        for it in page["Parameters"]:
            _, *place = it["Name"].split("/")
            if len(place) == 4:  # triton, stage, endpoint, model
                entry = json.loads(it["Value"])
                found[entry["endpoint"]][entry["model"]] = entry["version"]
    return found


def _instances(variant: Mapping[str, Any]) -> str:
    return f"{variant.get('CurrentInstanceCount', 0)}/{variant.get('DesiredInstanceCount', 0)}"


def _show(rows: list[Row]) -> None:
    table = Table("endpoint", "status", "variant", "instances", "models", box=None, pad_edge=False)
    for row in rows:
        table.add_row(
            row.endpoint,
            f"[{COLOURS.get(row.status, 'yellow')}]{escape(row.status)}[/]",
            "\n".join(row.variants),
            "\n".join(row.variants.values()),
            "\n".join(f"{model} {version}" for model, version in sorted(row.models.items())),
        )
    Console(highlight=False).print(table)
