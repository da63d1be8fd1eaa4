"""`publish`: a model on a running multi-model endpoint, without a deploy."""

import argparse

import boto3

from model_build.archive import file_name
from model_build.build import build
from model_build.commands.arguments import Commands, add_endpoint, add_model, command
from model_build.commands.outcome import Outcome
from model_build.commands.stage_events import record, refuse_during_delivery
from model_build.errors import BuildError
from model_build.plan import ModelPlan, plan_model
from model_build.progress import Printer
from model_build.publishing.bucket import is_published, publish
from model_build.publishing.catalog import Catalog
from model_build.publishing.copies import numbered
from model_build.publishing.engines import stage_engines
from model_build.publishing.hosted import PUBLISHED, ArchivePrefix, archive_prefixes
from platform_facts.rules.server import responses_of_a_model


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "publish",
        run,
        summary="add a model, or its new version, to a running multi-model endpoint and make it "
        "current; it stays so until a deploy changes the model",
        examples=[
            "publish dev text models/minilm",
            "publish dev text models/bert --copies 3",
        ],
    )
    add_endpoint(parser)
    add_model(parser)
    parser.add_argument(
        "--copies", type=_count, metavar="N", help="publish N models, called MODEL-0 to MODEL-(N-1)"
    )


def _count(written: str) -> int:
    """Read a number of copies."""
    number = int(written) if written.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{written!r} is not a number of copies: write 1 or more")
    return number


def run(options: argparse.Namespace) -> Outcome:
    """Build for every kind of instance that the endpoint has, then flip the catalog.

    An archive that builds have delivered below every prefix is taken as it is.
    """
    plan = plan_model(options.model)
    for problem in responses_of_a_model(plan.name, plan.is_decoupled, inference_type=None):
        raise BuildError(problem.message)  # no single-model endpoint is published to
    refuse_during_delivery(options)
    endpoint_name = f"{options.stage}-{options.endpoint}"
    prefixes = _prefixes(endpoint_name)
    numbers = [None] if options.copies is None else [str(it) for it in range(options.copies)]
    names = [plan.name if number is None else f"{plan.name}-{number}" for number in numbers]
    archives = {name: _archive(plan, name, prefixes) for name in names}
    for prefix in prefixes:
        _provide(options, plan, prefix, archives, dict(zip(names, numbers, strict=True)))
    if _prefixes(endpoint_name) != prefixes:
        raise BuildError(
            f"{endpoint_name} was updated meanwhile, and loads archives from another place now. "
            "Nothing was made current: publish again"
        )
    refuse_during_delivery(options)  # again: a build takes minutes
    catalog = Catalog(boto3.client("ssm"), options.stage, options.endpoint)
    current = catalog.entries()
    said, flipped = [], {}
    for name in names:
        entry = _entry(plan, name, endpoint_name, archives[name])
        if current.get(name) == entry:
            said.append(f"{name} {plan.version} was current already")
        else:
            catalog.flip(entry, "published")
            flipped[name] = plan.version
            said.append(f"{name} is now {plan.version}")
    if flipped:
        record(options, "publish", flipped, prefixes[0].bucket)
    return Outcome(text="\n".join(said), data={"models": names, "version": plan.version})


def _prefixes(endpoint_name: str) -> list[ArchivePrefix]:
    clients = boto3.client("sagemaker"), boto3.client("cloudformation")
    return archive_prefixes(*clients, endpoint_name)


def _archive(plan: ModelPlan, name: str, prefixes: list[ArchivePrefix]) -> str:
    """Return the archive's path below the prefixes: that of a publisher unless it is delivered."""
    delivered = file_name(name, plan.version)
    s3 = boto3.client("s3")
    is_delivered = all(
        is_published(s3, bucket=it.bucket, key=it.prefix + delivered) for it in prefixes
    )
    return delivered if is_delivered else PUBLISHED + delivered


def _entry(plan: ModelPlan, name: str, endpoint_name: str, target_model: str) -> dict[str, object]:
    return {
        "model": name,
        "version": plan.version,
        "endpoint": endpoint_name,
        "target_model": target_model,
        "signature": plan.signature.model_dump(),
    }


def _provide(
    options: argparse.Namespace,
    plan: ModelPlan,
    prefix: ArchivePrefix,
    archives: dict[str, str],
    numbers: dict[str, str | None],
) -> None:
    """Build and upload what the prefix does not have."""
    s3 = boto3.client("s3")
    keys = {name: prefix.prefix + archive for name, archive in archives.items()}
    missing = {
        name: key
        for name, key in keys.items()
        if not is_published(s3, bucket=prefix.bucket, key=key)
    }
    if not missing:
        return
    progress = Printer(plan.name)
    with build(
        options.model,
        name=plan.name,
        target=prefix.target,
        progress=progress,
        engines=stage_engines(prefix.bucket, stage=options.stage),
    ) as built:
        for name, key in missing.items():
            with numbered(built, numbers[name]) as named:
                publish(s3, named, bucket=prefix.bucket, key=key, progress=progress)
