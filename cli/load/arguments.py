"""Arguments of both `load` and `size`."""

import argparse
from pathlib import Path

import numpy as np

from cli.load.deployed import DeployedEndpoint, is_load_allowed
from cli.load.generator import Generator
from cli.load.mix import Mix
from cli.load.ramp import Objective
from cli.load.request_inputs import GENERATED

MODELS, STAGES = Path("models"), Path("stages")


def add_common(parser: argparse.ArgumentParser, *, seconds: float) -> None:
    """Add the arguments; the option `exit_with_error` exits with an error for wrong arguments."""
    parser.set_defaults(exit_with_error=parser.error)
    add, number = parser.add_argument, positive
    add("--p95", type=number, metavar="MS", help="objective: the 95th percentile of the latency")
    add("--p99", type=number, metavar="MS", help="objective: the 99th percentile of the latency")
    add("--seconds", type=number, default=seconds, help="duration of a step; default: %(default)g")
    add(
        "--timeout",
        type=number,
        default=10,
        help="time limit of a call in seconds; default: %(default)g",
    )
    inputs = f"folder of JSON files with inputs by name, or {GENERATED}; default: the inputs of "
    inputs += f"golden.json, or else {GENERATED}"
    add("--inputs", metavar="FOLDER", help=inputs)
    max_errors = "allowed share of failed calls; default: %(default)g"
    add("--max-errors", type=number, default=0.01, metavar="SHARE", help=max_errors)
    add("--yes", action="store_true", help="load production endpoints without a confirmation")
    add("--json", type=Path, metavar="FILE", help="write the steps to a file, as JSON")
    add("--html", type=Path, metavar="FILE", help="write the steps to a page with plots")


def make_generator(options: argparse.Namespace, mix: Mix) -> Generator:
    """Return the generator of a mix; exit with an error if production must not be loaded."""
    names = dict.fromkeys(target.endpoint for target in mix)
    endpoints = [DeployedEndpoint.read(name, STAGES) for name in names]
    for endpoint in endpoints:
        print(endpoint.description)
    if not is_load_allowed(endpoints, yes=options.yes):
        options.exit_with_error("loading production needs a confirmation: answer y, or add --yes")
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
    """Return a number above 0. Raise `argparse.ArgumentTypeError`."""
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: write a number above 0")
    return number
