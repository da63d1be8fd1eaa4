"""The stacks of one stage: `cdk synth -c stage=prod`."""

import sys

from aws_cdk import App, Environment

import checked_yaml
from model_build import BuildError
from stacks import EndpointStack, ModelStack
from stages import UnknownStage, load_stage


def main() -> None:
    """Add every stack of the stage that the context names, and synthesise."""
    app = App()
    name = app.node.try_get_context("stage") or ""
    stage = load_stage(name)
    env = Environment(account=stage.account, region=stage.region)
    models = ModelStack(app, f"{name}-models", env=env)
    for endpoint_name, endpoint in stage.endpoints.items():
        EndpointStack(
            app,
            f"{name}-{endpoint_name}",
            stage_name=name,
            stage=stage,
            endpoint_name=endpoint_name,
            endpoint=endpoint,
            models=models,
            env=env,
        )
    app.synth()


try:
    main()
except (UnknownStage, checked_yaml.InvalidFile, BuildError) as error:
    sys.exit(f"error: {error}")
