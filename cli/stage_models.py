"""`publish`, `rollback` and `retire`, in the region of the stage's file."""

import argparse
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from itertools import chain
from pathlib import Path

import boto3

from cli.errors import run_command
from model_build.source import ModelSource
from platform_facts.rules import checked_yaml
from release.checkout import Checkout
from stages import UnknownStage, load_stage

MAX_NAMES = 8


def run(command: Callable[[], int], options: argparse.Namespace) -> int:
    """Run a command in the region of its stage; return its exit code."""

    def run_in_region(options: argparse.Namespace) -> int:
        region = Checkout(Path.cwd()).stage(options.stage).region
        boto3.setup_default_session(region_name=region)
        return command()

    return run_command(run_in_region, options)


def run_publish(command: Callable[[], int], options: argparse.Namespace) -> int:
    """Publish models in the region of their stage; warn of those that the stage does not have."""
    code = run(command, options)
    with suppress(UnknownStage, checked_yaml.InvalidFile):
        endpoint = load_stage(options.stage).endpoints.get(options.endpoint)
        served = set(endpoint.models if endpoint else ())
        models = list(chain.from_iterable(options.models))
        missing = [model.name for model in models if not _serves(served, model)]
        if missing and code == 0:
            names = ", ".join(missing[:MAX_NAMES])
            names += f" and {len(missing) - MAX_NAMES} more" if missing[MAX_NAMES:] else ""
            print(
                f"! endpoints.{options.endpoint}.models of stages/{options.stage}.yaml does not "
                f"have {names}: deliveries stop at the catalog entry until you add it there",
                file=sys.stderr,
            )
    return code


def _serves(served: Collection[str], model: ModelSource) -> bool:
    """Return whether models of a stage are, or include, a model; a table includes its rows."""
    return model.name in served or (model.is_row and model.shared.model().name in served)
