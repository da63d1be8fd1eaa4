"""Measure an instance's sustained rate and bottleneck, and compute the instances for your traffic.

Rates double until one misses the objective; further steps narrow the rate to 10 %. The result is
saved beside the model. With --models, no requests are sent: the command computes instances and cost
of one endpoint for that number of models, compares them with an endpoint for each model ("one
each"), and lists all assumptions.
"""

import argparse
import asyncio
from datetime import UTC, datetime

from cli.errors import CommandError
from cli.load import arguments, many_models, mix, report
from cli.load.deployed import DeployedEndpoint
from cli.load.endpoint_metrics import add_metrics
from cli.load.limits import find_bottleneck
from cli.load.measurements import LAPTOP
from cli.load.ramp import Objective, Ramp, find_sustained_step
from cli.load.sizing import Sizing
from cli.load.step import LoadStep
from cli.parsers import add_command
from model_build.commands.arguments import Commands

PRECISION = 1.1
MAX_STEPS = 16


def add_to(commands: Commands) -> None:
    """Add the command."""
    examples = (
        "size minilm --endpoint dev-text --p95 50 --peak-rps 200",
        "size --models 10000 --traffic zipf:1.1 --rps 2000 --model-mib 400",
    )
    parser = add_command(commands, "size", run, __doc__, examples=examples)
    add = parser.add_argument
    add("model", metavar="MODEL", nargs="?", help="the model's name in the catalog")
    add("--endpoint", help="the endpoint's full name, such as dev-text")
    add("--rate", type=arguments.positive, default=1, help="rate of the first step; default: 1")
    add("--peak-rps", type=arguments.positive, help="peak of your traffic, in requests per second")
    add("--low-rps", type=arguments.positive, default=1, help="minimum of your traffic; default: 1")
    arguments.add_common(parser, seconds=120)
    many_models.add_options(parser.add_argument_group("one endpoint for many models"))


def run(options: argparse.Namespace) -> int:
    """Measure and save a rate, or compare endpoints for many models; return the exit code."""
    if options.models:
        return many_models.run(options, arguments.MODELS)
    if not options.model or not options.endpoint:
        options.exit_with_error(
            "write MODEL and --endpoint ENDPOINT, or --models COUNT and --rps RATE"
        )
    if options.p95 is None and options.p99 is None:
        options.exit_with_error("write an objective: --p95 MS, --p99 MS, or both")
    target = mix.ModelTarget(options.endpoint, options.model)
    generator = arguments.make_generator(options, {target: 1.0})
    [endpoint] = generator.endpoints
    if not endpoint.variants:
        raise CommandError(
            f"{endpoint.name} hosts inference components, which scale by copies, not instances: "
            f"load one copy with tritonsm load {endpoint.name}/{options.model}, and write half of "
            "its sustained rate as max_rps of the component"
        )
    if len(endpoint.variants) > 1 or len(endpoint.instances) > 1:
        raise CommandError(
            f"{endpoint.name} has several variants or instance types: size an endpoint with one"
        )
    ramp = Ramp(start=options.rate, growth=2, max_steps=MAX_STEPS, precision=PRECISION)
    steps = asyncio.run(generator.measure("rate", ramp))
    if find_sustained_step(steps, generator.objective) is None:
        print("no rate meets the objective: the model may be too slow even for single calls")
        return 1
    endpoint_after = DeployedEndpoint.read(endpoint.name, arguments.STAGES)
    if endpoint_after.instances != endpoint.instances:
        raise CommandError(
            f"{endpoint.name} scaled during the test from {endpoint.instances} to "
            f"{endpoint_after.instances}: set equal scaling limits, and size again"
        )
    steps = add_metrics(generator.endpoints, steps)
    report.write(options, generator.result("rate", steps))
    _print_sizing(_sizing(endpoint, options.model, generator.objective, steps), options)
    return 0


def _sizing(
    endpoint: DeployedEndpoint, model: str, objective: Objective, steps: list[LoadStep]
) -> Sizing:
    """Return the result of steps, of which at least one meets the objective."""
    [(instance_type, count)] = endpoint.instances.items()
    best = find_sustained_step(steps, objective)
    assert best
    missed_steps = [step for step in steps if step.level > best.level]
    limiting = min(missed_steps, key=lambda step: step.level, default=best)
    limit, reason = find_bottleneck(limiting, min(steps, key=lambda step: step.level))
    return Sizing(
        model=model,
        version=endpoint.client().resolve(model).version,
        endpoint=endpoint.name,
        date=f"{datetime.now(UTC):%F}",
        measured_on=LAPTOP if endpoint.is_local else instance_type,
        instance_type=instance_type,
        region=endpoint.config.region,
        release=endpoint.config.release,
        production=endpoint.config.production,
        objective=objective,
        max_rps=round(best.achieved_rps / count, 1),
        latency_ms=best.latency_ms,
        limited_by=limit if missed_steps else "nothing yet",
        reason=reason,
        steps=steps,
    )


def _print_sizing(sizing: Sizing, options: argparse.Namespace) -> None:
    p95, p99 = sizing.latency_ms["p95"], sizing.latency_ms["p99"]
    print(
        f"\n{sizing.model} {sizing.version} on {sizing.measured_on}: {sizing.max_rps:g} requests "
        f"per second and instance, p95 {p95:.1f} ms, p99 {p99:.1f} ms\n"
        f"limited by: {sizing.limited_by} ({sizing.reason})\n"
    )
    peak = options.peak_rps or sizing.max_rps
    print("\n".join(sizing.stage_lines(options.low_rps, peak)))
    print(f"\nsaved in {sizing.write(arguments.MODELS)}")
