"""Describers of variants, containers, builds and catalog entries."""

import json
import re
from collections.abc import Iterator
from typing import Any

from release.stack_endpoints import instance_types
from release.templates import references
from review.access.access_changes import has_more_access
from review.describers.generic import both_values, is_recreated
from review.property_change import ChangeLine, Describer, PropertyChange
from review.values import (
    as_list,
    changed_lines,
    format_change,
    format_value,
    value_differences,
)

METRICS_VARIABLES = ("PUBLISH_METRICS", "ALLOW_METRICS", "CLOUDWATCH_LOG_GROUP", "METRIC_NAMESPACE")
"""Parts of the names of variables that publish Triton's metrics."""

DUPLICATE_VARIABLES = {"SAGEMAKER_TRITON_OVERRIDE_PING_MODE": "SAGEMAKER_TRITON_PING_MODE"}
"""Variable that is not shown -> variable with the same information."""

DOWNLOAD_COMMANDS = re.compile(
    r"\b(curl|wget|nc|ncat|ftp|scp)\b|https?://|git clone|--(extra-)?index-url"
    r"|\b(pip3? install|npm (i|install)|apt(-get)? install)\b(?!.*--require-hashes)"
)
"""Commands that download files without a hash; chosen for this project."""

ARCHIVE_DIGEST = r"-[0-9a-f]{12}(?=\.tar\.gz)"
"""The digest in an archive's name; the table of models shows changed versions."""

TRITON_TAG = r":\d\d\.\d\d-py3(-cpu)?$"
"""A tag of SageMaker's Triton images; the endpoint's sentence shows the release."""

WIDENED_ACCESS, LOST_SAFEGUARDS = "widened_access", "lost_safeguards"
MAX_COMMANDS = 6
"""Maximum number of new build commands shown, without those that are dangers."""


def describe_policy(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a changed version of the policy language; review/access compares the rest."""
    versions = [side.get("Version", "none") if isinstance(side, dict) else None
                for side in (change.before, change.after)]  # fmt: skip
    if None not in versions and versions[0] != versions[1]:
        yield ChangeLine(f"{change.path}.Version: {format_change(*map(str, versions))}")


def describe_variant(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a new or removed variant."""
    if change.after is None:
        yield ChangeLine(f"variant {change.item} removed")
    else:
        count = change.after.get("InitialInstanceCount", 1)
        types = " or ".join(instance_types(change.after))
        yield ChangeLine(f"new variant {change.item}: {count} {types}")


def describe_pools(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield changed instance types of a variant, or their changed order."""
    sides = change.before, change.after
    types = [" or ".join(instance_types({"InstancePools": side})) if side else "none"
             for side in sides]  # fmt: skip
    if types[0] != types[1]:
        yield ChangeLine(f"instance types of {change.item}: {format_change(*types)}")


def describe_shadow_variant(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a new or removed shadow variant, which receives copies of requests."""
    if change.before is None:
        instance_type = change.after.get("InstanceType", "?")
        count = change.after.get("InitialInstanceCount", 1)
        text = f"copies of requests go to the shadow variant {change.item}: {count} {instance_type}"
        yield ChangeLine(text, "new_recipients")
    else:
        yield ChangeLine(f"the shadow variant {change.item}: removed")


def describe_container_environment(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield each changed variable of a container, with one line for all metrics variables."""
    old, new = change.before or {}, change.after or {}
    names = [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]
    metrics_names = [name for name in names if any(part in name for part in METRICS_VARIABLES)]
    for name in names:
        if name not in metrics_names and DUPLICATE_VARIABLES.get(name) not in names:
            values = (format_value(side.get(name, "default"), {}) for side in (old, new))
            yield ChangeLine(f"{name.removeprefix('SAGEMAKER_TRITON_')} {format_change(*values)}")
    if metrics_names:
        is_published = any(METRICS_VARIABLES[0] in name for name in new)
        yield ChangeLine(
            f"Triton's own metrics {'published' if is_published else 'no longer published'}"
        )


def value_without(label: str, ignored: str) -> Describer:
    """Return a describer of both values without texts that match `ignored`, a regular expression.

    The report shows changes of these texts elsewhere.
    """
    pattern = re.compile(ignored)

    def describe(change: PropertyChange) -> Iterator[ChangeLine]:
        texts = [pattern.sub("-<digest>", text) for text in change.texts]
        if texts[0] != texts[1]:
            yield ChangeLine(f"{label} {format_change(*texts)}")

    return describe


def describe_role(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a changed role; one outside of the stage, or one with more permissions, is a danger.

    `review/access` compares a new role with the role that it replaces.
    """
    old_resources, resources = change.stack_resources
    old_role, new_role = (next(references(value), "") for value in (change.before, change.after))
    if isinstance(change.after, str) and change.after != change.before:
        text = f"runs as {change.after}, whose permissions are outside of the stage"
        yield ChangeLine(text, WIDENED_ACCESS)
    elif old_role and new_role in old_resources and has_more_access(resources, old_role, new_role):
        text = f"runs as another role, which may do more: {change.value_change}"
        yield ChangeLine(text, WIDENED_ACCESS)
    else:
        yield from both_values(change)


def describe_archive_build(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield changed properties of the build of an archive whose digest and target are the same."""
    versions = [(side["Properties"].get("Digest"), side["Properties"].get("Target"))
                for side in change.resources if side]  # fmt: skip
    if len(set(versions)) == 1:
        yield from both_values(change)


def describe_catalog_entry(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the differences in a catalog entry with the same version."""
    old, new = (_parse_json(side) for side in (change.before, change.after))
    if not (isinstance(old, dict) and isinstance(new, dict)):
        yield from both_values(change)
    elif old.get("version") == new.get("version"):
        for difference in value_differences(old, new):
            yield ChangeLine(f"{change.path}.{difference}")


def _parse_json(value: Any) -> Any:
    """Return the value of a JSON text, None if the value is not JSON text."""
    try:
        return json.loads(value) if isinstance(value, str) else None
    except ValueError:
        return None


def describe_build_commands(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield new commands of a build; one that downloads is a danger."""
    removed, added = changed_lines(*change.texts)
    downloads = [line for line in added if DOWNLOAD_COMMANDS.search(line)]
    yield from (ChangeLine(f"the build runs: {line}", "build_downloads") for line in downloads)
    others = [line for line in added if line not in downloads]
    yield from (ChangeLine(f"the build runs: {line}") for line in others[:MAX_COMMANDS])
    if removed:
        yield ChangeLine(f"{len(removed)} lines of the build's commands are removed")


def describe_removed_guard(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield that an endpoint loses the guard before its updates, or the check after them."""
    is_removed = change.after is None and not is_recreated(change, ("Endpoint",))
    if is_removed and all(change.endpoints):
        guard = change.resource_change.type.removeprefix("Custom::Triton")
        yield ChangeLine(f"the endpoint is updated without {guard}", LOST_SAFEGUARDS)


def describe_guarded_archives(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the models of an endpoint whose archives the guard no longer checks."""
    old, new = ({archive.rpartition("-")[0] for archive in side or ()}
                for side in (change.before, change.after))  # fmt: skip
    modes = [
        {variant.mode for variant in endpoint.variants.values()}
        for endpoint in change.endpoints
        if endpoint
    ]
    _, after = change.endpoints
    current_models = after.models if after and modes[0] == modes[-1] else ()
    if models := sorted((old - new) & {*current_models}):
        text = f"updates no longer wait for the archives of {', '.join(models)}"
        yield ChangeLine(text, LOST_SAFEGUARDS)


def describe_dependencies(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield added and removed dependencies between resources that exist before and after."""
    old, new = change.stack_resources
    before, after = ({*as_list(value or [])} & old.keys() & new.keys()
                     for value in (change.before, change.after))  # fmt: skip
    for logical_id in sorted(before ^ after):
        is_guard = logical_id in before and new[logical_id]["Type"].startswith("Custom::Triton")
        text = f"DependsOn: {logical_id} {'new' if logical_id in after else 'removed'}"
        yield ChangeLine(text, LOST_SAFEGUARDS if is_guard else "")
