"""Ask a model of a deployed endpoint, as an application would: through endpoint_client."""

import argparse
import time
from functools import partial
from pathlib import Path

import boto3

from cli import answers, inputs
from cli.errors import exit_code
from endpoint_client import EndpointClient, EndpointError
from model_build.commands.arguments import Commands
from release.tree import Tree


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "invoke",
        description=__doc__,
        epilog="examples:\n  tritonsm invoke dev text minilm\n"
        "  tritonsm invoke local text minilm --input TEXT=hello --local",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("stage", metavar="STAGE", help="the stage's name, such as dev")
    parser.add_argument("endpoint", metavar="ENDPOINT", help="the endpoint's name in the stage")
    parser.add_argument("model", metavar="MODEL", help="the model's name in the catalog")
    inputs.add_option(parser)
    parser.add_argument("--json", action="store_true", help="write JSON to standard output")
    parser.set_defaults(run=partial(exit_code, run, expected=(EndpointError,)))


def run(options: argparse.Namespace) -> int:
    """Ask; return the exit code."""
    here = Tree(Path.cwd())
    session = boto3.Session(region_name=here.stage(options.stage).region)
    client = EndpointClient(stage=options.stage, endpoint=options.endpoint, session=session)
    entry = client.resolve(options.model)
    beside = inputs.sample(here.models, options.model)
    asked = inputs.chosen(options.input, entry, beside)
    start = time.perf_counter()
    answer = client.invoke(options.model, asked)
    answers.show(answer, {"call": time.perf_counter() - start}, as_json=options.json)
    return 0
