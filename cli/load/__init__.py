"""Load-test models of deployed endpoints, in growing steps, until a latency objective is missed.

With --rate, requests arrive as a Poisson process of that rate, and latency is measured from the
time at which a request was due. With --callers, each caller sends a request after each answer.
"""

import argparse
import asyncio

from cli.load import arguments, mix, report
from cli.load.endpoint_metrics import add_metrics
from cli.load.generator import MAX_CALLERS, Level
from cli.load.ramp import Ramp
from cli.parsers import add_command
from model_build.commands.arguments import Commands

MAX_STEPS = 12


def add_to(commands: Commands) -> None:
    """Add the command."""
    examples = (
        "load dev-text/minilm --rate 20 --p95 50 --html load.html",
        "load local-text/minilm --callers 4 --local",
        "load dev-text/minilm dev-text/bert --zipf 1.1 --rate 50 --json load.json",
    )
    codes = "exit codes: 0; 1 if the first step misses the objective; 2 for wrong arguments"
    parser = add_command(commands, "load", run, __doc__, examples=examples, notes=f"\n\n{codes}")
    add = parser.add_argument
    add(
        "targets",
        nargs="+",
        type=mix.ModelTarget.parse,
        metavar="ENDPOINT/MODEL",
        help=f"such as {mix.EXAMPLE}",
    )
    levels = parser.add_mutually_exclusive_group(required=True)
    levels.add_argument(
        "--rate", type=arguments.positive, help="requests per second in the first step"
    )
    levels.add_argument(
        "--callers", type=int, metavar="N", help="concurrent callers in the first step"
    )
    add(
        "--growth",
        type=arguments.positive,
        default=1.5,
        help="factor between the rates (or callers) of two steps; default: 1.5",
    )
    add(
        "--steps",
        type=int,
        help=f"maximum steps; default: {MAX_STEPS}, or 1 without --p95 and --p99",
    )
    add(
        "--zipf",
        type=arguments.positive,
        metavar="EXPONENT",
        help="model number N gets a share in proportion to N ** -EXPONENT; default: equal shares",
    )
    arguments.add_common(parser, seconds=30)


def run(options: argparse.Namespace) -> int:
    """Run the load test; return the exit code."""
    if options.callers is not None and not 0 < options.callers <= MAX_CALLERS:
        options.exit_with_error(f"--callers {options.callers}: write 1 to {MAX_CALLERS}")
    if options.steps is not None and options.steps < 1:
        options.exit_with_error(f"--steps {options.steps}: write 1 or more")
    if options.growth <= 1:
        options.exit_with_error(f"--growth {options.growth:g}: write more than 1")
    shares = mix.zipf(options.targets, options.zipf or 0.0)
    generator = arguments.make_generator(options, shares)
    objective = generator.objective
    ramp = Ramp(
        start=options.rate or options.callers,
        growth=options.growth,
        max_steps=options.steps or (MAX_STEPS if objective.has_latency else 1),
    )
    level_name: Level = "rate" if options.rate else "callers"
    steps = asyncio.run(generator.measure(level_name, ramp))
    if options.html:
        steps = add_metrics(generator.endpoints, steps)
    report.write(options, generator.result(level_name, steps))
    return int(bool(objective.miss_reason(steps[0])))
