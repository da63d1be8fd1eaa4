"""The stacks of one stage: `cdk synth -c stage=prod`."""

import os
import signal
import sys
from functools import partial

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C: no traceback, of imports neither

from aws_cdk import App, Environment, Tags, Validations
from aws_cdk.cx_api import CloudAssembly
from cdk_nag import AwsSolutionsChecks

import checked_yaml
from model_build import PYTHON_VARIABLE, BuildError
from stacks import (
    CaptureStack,
    DeliveryStack,
    EndpointStack,
    ModelStack,
    NetworkStack,
    TimeBudget,
    check_templates,
    raise_problems,
    take_limits_over,
)
from stages import UnknownStage, load_stage, naming_lines


def add_stacks(app: App, stage_name: str, python: str | None = None) -> None:
    """Add what stays, and one stack an endpoint, checked by cdk-nag in every synth."""
    take_limits_over(app)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    stage = load_stage(stage_name)
    env = Environment(account=stage.account, region=stage.region)
    models = ModelStack(app, f"{stage_name}-models", stage_name=stage_name, stage=stage, env=env)
    for key, value in stage.tags.items():
        Tags.of(app).add(key, value)
    network = captured = None
    if stage.private_network:
        network = NetworkStack(app, f"{stage_name}-network", env=env, zones=stage.zones)
    if stage.captures:
        captured = CaptureStack(app, f"{stage_name}-capture", stage=stage, env=env).bucket
    if stage.delivery:
        DeliveryStack(
            app, f"{stage_name}-delivery", stage_name=stage_name, delivery=stage.delivery, env=env
        )
    add = partial(
        EndpointStack, app, stage_name=stage_name, stage=stage, models=models, captured=captured,
        network=network, python=python, env=env,
    )  # fmt: skip
    endpoints = {}
    with naming_lines(stage_name):
        for name, it in stage.endpoints.items():
            stack = add(f"{stage_name}-{name}", endpoint_name=name, endpoint=it)
            raise_problems(name, it, stack.endpoint.problems)
            endpoints[name] = stack.endpoint
        TimeBudget.of(stage_name, endpoints).attach_to(models)


def synthesise(app: App, stage_name: str, python: str | None = None) -> CloudAssembly:
    """Return the cloud assembly of a stage, none of whose templates CloudFormation refuses."""
    add_stacks(app, stage_name, python)
    assembly = app.synth()
    with naming_lines(stage_name):
        check_templates(stage_name, assembly)
    return assembly


if __name__ == "__main__":
    # Traces hold temporary paths: without them, two synths are byte-identical.
    app = App(context={"aws:cdk:disable-creation-stack-traces": True}, stack_traces=False)
    try:
        synthesise(app, app.node.try_get_context("stage") or "", os.environ.get(PYTHON_VARIABLE))
    except (UnknownStage, checked_yaml.InvalidFile, BuildError) as error:
        sys.exit(f"error: {error}")
