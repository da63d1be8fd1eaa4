"""The stacks of one stage, and the cloud assembly with them."""

from pathlib import Path

from aws_cdk import App, Environment, Tags, Validations
from aws_cdk.cx_api import CloudAssembly
from cdk_nag import AwsSolutionsChecks

from model_build import BuildError
from platform_facts.rules import checked_yaml
from stacks.budget import add_budget
from stacks.capture_stack import CaptureStack
from stacks.catalog_stack import CatalogStack
from stacks.delivery_stack import DeliveryStack
from stacks.endpoint_stack import EndpointStack
from stacks.model_stack import ModelStack
from stacks.network_stack import NetworkStack
from stages import UnknownStage, at_lines_of_stage, load_stage
from stages.load import FOLDER
from stages.plan import PlannedStage

USER_ERRORS = (UnknownStage, checked_yaml.InvalidFile, BuildError)
"""Errors in user input; the messages contain the fix."""


def synthesise(
    app: App, stage_name: str, python: str | None = None, folder: Path = FOLDER
) -> CloudAssembly:
    """Return the cloud assembly of a stage, with its plan.

    `python` overrides the Python version of the release's image, in which Python models run. Raise
    one of `USER_ERRORS`, with the line of the stage's file.
    """
    config = load_stage(stage_name, folder)
    with at_lines_of_stage(stage_name, folder):
        stage = PlannedStage.of(stage_name, config, python=python)
        add_stacks(app, stage)
        assembly = app.synth()
    stage.plan.write(Path(assembly.directory))
    return assembly


def add_stacks(app: App, stage: PlannedStage) -> None:
    """Add the stacks of a stage, with the checks of cdk-nag."""
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    name, config = stage.plan.stage, stage.config
    if qualifier := config.existing.bootstrap_qualifier:
        app.node.set_context("@aws-cdk/core:bootstrapQualifier", qualifier)
    if boundary := config.existing.permissions_boundary:
        app.node.set_context("@aws-cdk/core:permissionsBoundary", {"name": boundary})
    env = Environment(account=config.account, region=config.region)
    for key, value in config.tags.items():
        Tags.of(app).add(key, value)
    models = ModelStack(app, f"{name}-models", stage=stage, env=env)
    add_budget(models, stage)
    existing = models.existing
    catalog = CatalogStack(app, f"{name}-catalog", stage_name=name, key=existing.key, env=env)
    network, captured = existing.network, existing.captured
    if config.captures and captured is None:
        stack = CaptureStack(app, f"{name}-capture", stage=config, key=existing.key, env=env)
        captured = stack.bucket
    if config.private_network:
        network = NetworkStack(
            app, f"{name}-network", env=env, zones=config.zones, models=models.bucket,
            captured=captured,
        ).network  # fmt: skip
    if config.delivery:
        DeliveryStack(
            app, f"{name}-delivery", stage_name=name, delivery=config.delivery,
            existing=config.existing,
            components=any(endpoint.components for endpoint in config.endpoints.values()), env=env,
            images=[endpoint.image.uri for endpoint in config.endpoints.values() if endpoint.image],
        )  # fmt: skip
    for short_name, endpoint in stage.plan.endpoints.items():
        endpoint_stack = EndpointStack(
            app, endpoint.settings.stack, stage=stage, endpoint=short_name, models=models,
            network=network, captured=captured, env=env,
        )  # fmt: skip
        endpoint_stack.add_stack_dependency(catalog)
