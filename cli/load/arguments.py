"""The arguments that `load` and `size` share."""

import argparse
from pathlib import Path

import numpy as np

from cli.load.deployed import DeployedEndpoint, may_be_loaded
from cli.load.generator import Generator
from cli.load.mix import Mix
from cli.load.ramp import Objective
from cli.load.request_inputs import GENERATED

MODELS, STAGES = Path("models"), Path("stages")


def add_common(parser: argparse.ArgumentParser, *, seconds: float) -> None:
    """Add them; `refuse` ends the program for wrong arguments."""
    parser.set_defaults(refuse=parser.error)
    add, number = parser.add_argument, positive
    add("--p95", type=number, metavar="MS", help="objective: the 95th percentile of the latency")
    add("--p99", type=number, metavar="MS", help="objective: the 99th percentile of the latency")
    add("--seconds", type=number, default=seconds, help="of a step, by default %(default)g")
    add("--timeout", type=number, default=10, help="seconds of a call, by default %(default)g")
    inputs = f"FOLDER or {GENERATED}; default: those of the expected outputs, else {GENERATED}"
    add("--inputs", metavar="FOLDER", help=f"of JSON files with inputs by name: {inputs}")
    most = "the part of the calls that may fail, by default %(default)g"
    add("--max-errors", type=number, default=0.01, metavar="SHARE", help=most)
    add("--yes", action="store_true", help="load production endpoints without a question")
    add("--json", type=Path, metavar="FILE", help="write the steps to a file, as JSON")
    add("--html", type=Path, metavar="FILE", help="write the steps to a page with plots")


def generator(options: argparse.Namespace, mix: Mix) -> Generator:
    """Return the generator of a mix; end the program if production must not be loaded."""
    names = dict.fromkeys(target.endpoint for target in mix)
    endpoints = [DeployedEndpoint.read(name, STAGES) for name in names]
    for endpoint in endpoints:
        print(endpoint.described)
    if not may_be_loaded(endpoints, yes=options.yes):
        options.refuse("production is not loaded without a yes: answer y, or add --yes")
    return Generator(
        mix=mix,
        objective=Objective(p95=options.p95, p99=options.p99, max_errors=options.max_errors),
        endpoints=endpoints,
        inputs=options.inputs,
        models=MODELS,
        seconds=options.seconds,
        timeout=options.timeout,
        random=np.random.default_rng(0),
    )


def positive(text: str) -> float:
    """Return a number above 0. Raises `argparse.ArgumentTypeError`."""
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: write a number above 0")
    return number
