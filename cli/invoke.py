"""Invoke a model of a deployed endpoint with endpoint_client, as applications do."""

import argparse
import json
import time
from pathlib import Path

import boto3

from cli import inputs, outputs, request_parameters
from cli.parsers import add_command
from endpoint_client import EndpointClient
from model_build.commands.arguments import Commands
from release.checkout import Checkout


def add_to(commands: Commands) -> None:
    """Add the command."""
    examples = (
        "invoke dev text minilm",
        "invoke local text minilm --input TEXT=hello --local",
        "invoke dev chat gpt --input PROMPT=hello --parameter max_tokens=99 --stream",
        "invoke dev night minilm --wait 900",
    )
    parser = add_command(commands, "invoke", run, __doc__, examples=examples)
    parser.add_argument("stage", metavar="STAGE", help="the stage's name, such as dev")
    parser.add_argument("endpoint", metavar="ENDPOINT", help="the endpoint's name in the stage")
    parser.add_argument("model", metavar="MODEL", help="the model's name in the catalog")
    inputs.add_option(parser)
    request_parameters.add_option(parser)
    parser.add_argument(
        "--stream",
        action="store_true",
        help="print each response of a decoupled model as soon as it arrives, as a line of JSON",
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="wait while the model is loading, or its inference component starts a copy",
    )
    parser.add_argument("--json", action="store_true", help="write JSON to standard output")


def run(options: argparse.Namespace) -> int:
    """Invoke the model; return the exit code."""
    parameters = request_parameters.parse(options.parameter)
    tree = Checkout(Path.cwd())
    session = boto3.Session(region_name=tree.stage(options.stage).region)
    client = EndpointClient(
        stage=options.stage,
        endpoint=options.endpoint,
        session=session,
        wait_until_ready=options.wait,
    )
    entry = client.resolve(options.model)
    sample = inputs.read_sample(tree.models, options.model)
    tensors = inputs.request_inputs(options.input, entry, sample)
    if options.stream:
        for response in client.stream(options.model, tensors, parameters=parameters):
            print(json.dumps(response, ensure_ascii=False), flush=True)
        return 0
    start = time.perf_counter()
    answer = client.invoke(options.model, tensors, parameters=parameters)
    outputs.show(answer, {"call": time.perf_counter() - start}, as_json=options.json)
    return 0
