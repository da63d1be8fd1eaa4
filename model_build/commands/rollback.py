"""`rollback`: make an earlier version of a model current."""

import argparse
from collections.abc import Sequence

import boto3

from model_build.commands.arguments import Commands, add_command, add_endpoint
from model_build.commands.outcome import Outcome
from model_build.commands.stage_events import (
    check_no_delivery_in_progress,
    make_current,
    read_caller,
    record_event,
    served_prefixes,
)
from model_build.errors import BuildError
from model_build.publishing.hosted import ArchivePrefix
from plan.archives import ArchiveBucket
from plan.catalog import Catalog, Cause, Entry, Revision


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "rollback",
        run,
        summary="make an earlier version of a model current again; builds and deploys nothing",
        examples=["rollback dev text minilm", "rollback dev text minilm --to 0123456789ab"],
    )
    add_endpoint(parser)
    parser.add_argument("model", metavar="NAME", help="the model's name in the catalog")
    parser.add_argument(
        "--to", metavar="VERSION", help="the version to roll back to; default: the previous version"
    )


def run(options: argparse.Namespace) -> Outcome:
    """Flip the catalog entry to an earlier version whose archive still exists."""
    catalog = Catalog(boto3.client("dynamodb"), options.stage, options.endpoint)
    revisions = catalog.current([options.model])
    if options.model not in revisions:
        names = ", ".join(revisions) or "none"
        raise BuildError(f"no model {options.model} in {catalog.name}: there are {names}")
    history = catalog.history(options.model)
    *predecessors, current = predecessors_and_current(history)
    if options.to == current.version:
        return _unchanged(current, f"{options.model} {current.version} was current already")
    if options.to is None and current.cause == "rolled back":
        return _unchanged(
            current,
            f"{options.model} was rolled back already, to {current.version}; --to takes another: "
            f"{_list_versions(history)}",
        )
    candidates = predecessors
    if options.to is not None:
        candidates = [version for version in history if version.version == options.to]
    if not candidates:
        missing = f"version {options.to}" if options.to else f"version before {current.version}"
        raise BuildError(
            f"{options.model} has no {missing} in the catalog's history; --to takes: "
            f"{_list_versions(history)}"
        )
    earlier = candidates[-1]
    prefixes = served_prefixes(current.entry["endpoint"])
    check_no_delivery_in_progress(options, prefixes[0].bucket)
    _require_archives(earlier.entry, prefixes)
    # Selecting a version that was rolled back before counts as publishing.
    is_predecessor = earlier.version in {version.version for version in predecessors}
    cause: Cause = "rolled back" if is_predecessor else "published"
    caller = read_caller()
    make_current(catalog, earlier.entry, cause, caller=caller, replaces=revisions[options.model])
    record_event(options, "rollback", {options.model: earlier.version}, prefixes[0].bucket)
    return Outcome(
        text=f"{options.model} is now {earlier.version}, before {current.version}",
        data={"model": options.model, "version": earlier.version, "before": current.version},
    )


def _unchanged(current: Revision, text: str) -> Outcome:
    return Outcome(text=text, data={"model": current.model, "version": current.version})


def _list_versions(history: Sequence[Revision]) -> str:
    """Return the distinct versions except the current one, latest first."""
    latest = dict.fromkeys(version.version for version in reversed(history))
    return ", ".join(list(latest)[1:]) or "none"


def _require_archives(entry: Entry, prefixes: list[ArchivePrefix]) -> None:
    if entry["target_model"] is None:
        raise BuildError(
            f"{entry['model']} {entry['version']} was deployed with another hosting mode, and is "
            "below no prefix of a multi-model endpoint. Check the old commit out and publish it"
        )
    s3 = boto3.client("s3")
    for prefix in prefixes:
        key = prefix.prefix + entry["target_model"]
        if not ArchiveBucket(s3, prefix.bucket).is_complete(key):
            raise BuildError(
                f"s3://{prefix.bucket}/{key} does not exist: it was retired, or never built for "
                f"{prefix.target}. Check the old commit out and publish or deploy it"
            )


def predecessors_and_current(history: Sequence[Revision]) -> list[Revision]:
    """Return the current revision, last, after its predecessors.

    Versions that were rolled back are not predecessors. A deploy of an earlier version is also a
    rollback: of a failed deploy, or to an older commit. An earlier version that is published again
    is the newest version.
    """
    lineage: list[Revision] = []
    for revision in history:
        indexes = [
            index
            for index, predecessor in enumerate(lineage)
            if predecessor.version == revision.version
        ]
        if indexes and (revision.cause != "published" or indexes[-1] == len(lineage) - 1):
            del lineage[indexes[-1] :]
        lineage.append(revision)
    return lineage
