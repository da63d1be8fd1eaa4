"""`publish`, `rollback` and `retire`, in the region of the stage's file."""

import argparse
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import boto3

from cli.errors import run_command
from platform_facts.rules import checked_yaml
from release.checkout import Checkout
from stages import UnknownStage, load_stage


def run(command: Callable[[], int], options: argparse.Namespace) -> int:
    """Run a command in the region of its stage; return its exit code."""

    def run_in_region(options: argparse.Namespace) -> int:
        region = Checkout(Path.cwd()).stage(options.stage).region
        boto3.setup_default_session(region_name=region)
        return command()

    return run_command(run_in_region, options)


def run_publish(command: Callable[[], int], options: argparse.Namespace) -> int:
    """Publish a model in the region of its stage; warn if the stage does not have the model."""
    code = run(command, options)
    with suppress(UnknownStage, checked_yaml.InvalidFile):
        endpoint = load_stage(options.stage).endpoints.get(options.endpoint)
        name = options.model.name
        if code == 0 and (endpoint is None or name not in endpoint.models):
            print(
                f"! endpoints.{options.endpoint}.models of stages/{options.stage}.yaml does not "
                f"have {name}: deliveries stop at its catalog entry until you add it there",
                file=sys.stderr,
            )
    return code
