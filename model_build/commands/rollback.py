"""`rollback`: make an earlier version of a model current."""

import argparse

import boto3

from model_build.commands.arguments import Commands, add_endpoint, command
from model_build.commands.outcome import Outcome
from model_build.errors import BuildError
from model_build.publishing.bucket import is_published
from model_build.publishing.catalog import Catalog, Entry
from model_build.publishing.hosted import ArchivePrefix, archive_prefixes


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "rollback",
        run,
        summary="make an earlier version of a model current again; builds and deploys nothing",
        examples=[
            "rollback minilm --stage dev --endpoint text",
            "rollback minilm --to 0123456789ab --stage dev --endpoint text",
        ],
    )
    parser.add_argument("model", metavar="NAME", help="the model's name in the catalog")
    add_endpoint(parser)
    parser.add_argument(
        "--to", metavar="VERSION", help="the version to roll back to; default: the one before"
    )


def run(options: argparse.Namespace) -> Outcome:
    """Flip the catalog's entry back, if the archive is still there."""
    catalog = Catalog(boto3.client("ssm"), options.stage, options.endpoint)
    entries = catalog.entries()
    if options.model not in entries:
        known = ", ".join(sorted(entries)) or "none"
        raise BuildError(f"no model {options.model} in {catalog.path}: there are {known}")
    current = entries[options.model]["version"]
    if options.to == current:
        return Outcome(
            text=f"{options.model} {current} was current already",
            data={"model": options.model, "version": current},
        )
    entry = _earlier(catalog, options.model, current, options.to)
    prefixes = archive_prefixes(
        boto3.client("sagemaker"), boto3.client("cloudformation"), entry["endpoint"]
    )
    _require_archives(entry, prefixes)
    catalog.flip(entry)
    return Outcome(
        text=f"{options.model} is now {entry['version']}, before {current}",
        data={"model": options.model, "version": entry["version"], "before": current},
    )


def _earlier(catalog: Catalog, model: str, current: str, wanted: str | None) -> Entry:
    earlier = [entry for entry in catalog.earlier(model) if entry["version"] != current]
    for entry in earlier:
        if wanted in (None, entry["version"]):
            return entry
    known = ", ".join(entry["version"] for entry in earlier) or "none"
    raise BuildError(
        f"{model} has no earlier version{f' {wanted}' if wanted else ''} in the catalog's history; "
        f"there are: {known}"
    )


def _require_archives(entry: Entry, prefixes: list[ArchivePrefix]) -> None:
    s3 = boto3.client("s3")
    for prefix in prefixes:
        key = f"{prefix.prefix}{entry['target_model']}"
        if not is_published(s3, bucket=prefix.bucket, key=key):
            raise BuildError(
                f"s3://{prefix.bucket}/{key} is not there: it was retired, or never built for "
                f"{prefix.target}. Check the old commit out and publish or deploy it"
            )
