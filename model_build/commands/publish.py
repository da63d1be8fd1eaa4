"""`publish`: publish a model to a running multi-model endpoint, without a deploy."""

import argparse

import boto3

from model_build.archive import file_name
from model_build.build import build
from model_build.commands.arguments import (
    Commands,
    add_command,
    add_endpoint,
    add_load,
    add_model,
)
from model_build.commands.outcome import Outcome
from model_build.commands.stage_events import (
    check_no_delivery_in_progress,
    make_current,
    record_event,
    served_prefixes,
)
from model_build.errors import BuildError
from model_build.plan import ModelPlan, plan_model
from model_build.progress import Printer
from model_build.publishing.bucket import is_published, publish
from model_build.publishing.engines import stage_engines
from model_build.publishing.hosted import PUBLISHED_PREFIX
from plan.catalog import Catalog, Entry
from platform_facts.rules.server import check_decoupled_model


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "publish",
        run,
        summary="add a model, or its new version, to a running multi-model endpoint and make it "
        "current until a deploy changes the model",
        examples=["publish dev text models/minilm"],
    )
    add_endpoint(parser)
    add_model(parser)
    add_load(parser)


def run(options: argparse.Namespace) -> Outcome:
    """Build the archive for every target of the endpoint, then change the catalog entry.

    If a delivery has built the archive below every prefix, that archive becomes current.
    """
    plan = plan_model(options.model)
    for problem in check_decoupled_model(plan.name, plan.is_decoupled, inference_type=None):
        raise BuildError(problem.message)
    check_no_delivery_in_progress(options)
    catalog = Catalog(boto3.client("dynamodb"), options.stage, options.endpoint)
    endpoint_name = catalog.endpoint_name()
    prefixes = served_prefixes(endpoint_name)
    s3 = boto3.client("s3")
    archive = file_name(plan.name, plan.version)
    if not all(is_published(s3, **prefix.archive_location(archive)) for prefix in prefixes):
        archive = PUBLISHED_PREFIX + archive
    for prefix in prefixes:
        location = prefix.archive_location(archive)
        if is_published(s3, **location):
            continue
        progress = Printer(plan.name)
        with build(
            options.model,
            name=plan.name,
            target=prefix.target,
            progress=progress,
            engines=stage_engines(prefix.bucket, stage=options.stage),
        ) as result:
            publish(s3, result, **location, load=options.load, progress=progress)
    if served_prefixes(endpoint_name) != prefixes:
        raise BuildError(
            f"{endpoint_name} was updated during the build and now loads archives from another "
            "prefix. The catalog is unchanged: publish again"
        )
    check_no_delivery_in_progress(options)  # again: a build takes minutes
    data = {"model": plan.name, "version": plan.version}
    entry = catalog_entry(plan, endpoint_name, archive)
    current = catalog.current([plan.name]).get(plan.name)
    if current and current.entry == entry:
        return Outcome(text=f"{plan.name} {plan.version} was current already", data=data)
    make_current(catalog, entry, "published", replaces=current)
    record_event(options, "publish", {plan.name: plan.version}, prefixes[0].bucket)
    return Outcome(text=f"{plan.name} is now {plan.version}", data=data)


def catalog_entry(plan: ModelPlan, endpoint_name: str, target_model: str) -> Entry:
    """Return the catalog entry of a model, equal to that of a deploy."""
    return {
        "model": plan.name,
        "version": plan.version,
        "endpoint": endpoint_name,
        "target_model": target_model,
        "signature": plan.signature.model_dump(),
    }
