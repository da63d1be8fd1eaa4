"""Describe changes of variants, containers, builds, and catalog entries."""

import json
import re
from collections.abc import Iterator
from typing import Any

from release.review.access.gained import may_do_more
from release.review.describers.generic import is_moved, shown
from release.review.property_change import ChangeLine, Describer, PropertyChange
from release.review.values import arrow, changed_lines, differences, listed, text_of
from release.stack_endpoints import instance_types
from release.template_resources import references

METRICS = ("PUBLISH_METRICS", "ALLOW_METRICS", "CLOUDWATCH_LOG_GROUP", "METRIC_NAMESPACE")
"""Parts of the names of variables that publish Triton's metrics."""

TWICE = {"SAGEMAKER_TRITON_OVERRIDE_PING_MODE": "SAGEMAKER_TRITON_PING_MODE"}
"""Variable -> another variable with the same information."""

DOWNLOADS = re.compile(
    r"\b(curl|wget|nc|ncat|ftp|scp)\b|https?://|git clone|--(extra-)?index-url"
    r"|\b(pip3? install|npm (i|install)|apt(-get)? install)\b(?!.*--require-hashes)"
)
"""Commands that download what no template and no lock file names: our choice."""

DIGEST = r"-[0-9a-f]{12}(?=\.tar\.gz)"
"""The digest in an archive's name; the table of models shows versions."""

RELEASE = r":\d\d\.\d\d-py3(-cpu)?$"
"""A tag of SageMaker's Triton images; the endpoint's sentence shows the release."""

WIDENED, SAFEGUARDS = "widened_access", "lost_safeguards"
MOST_LINES = 6


def policy(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield another version of the policy language; permissions are compared elsewhere."""
    versions = [side.get("Version", "none") if isinstance(side, dict) else None
                for side in (change.before, change.after)]  # fmt: skip
    if None not in versions and versions[0] != versions[1]:
        yield ChangeLine(f"{change.path}.Version: {arrow(*map(str, versions))}")


def variant(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a variant that is new or removed."""
    if change.after is None:
        yield ChangeLine(f"variant {change.item} removed")
    else:
        count = change.after.get("InitialInstanceCount", 1)
        kinds = " or ".join(instance_types(change.after))
        yield ChangeLine(f"new variant {change.item}: {count} {kinds}")


def pools(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a change of a variant's instance types or their order."""
    sides = change.before, change.after
    types = [" or ".join(instance_types({"InstancePools": side})) if side else "none"
             for side in sides]  # fmt: skip
    if types[0] != types[1]:
        yield ChangeLine(f"instance types of {change.item}: {arrow(*types)}")


def shadow_variant(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a new or removed shadow variant, which gets copies of requests."""
    if change.before is None:
        kind = change.after.get("InstanceType", "?")
        count = change.after.get("InitialInstanceCount", 1)
        text = f"a copy of requests goes to the shadow variant {change.item} on {count} {kind}"
        yield ChangeLine(text, "new_recipients")
    else:
        yield ChangeLine(f"the shadow variant {change.item}: removed")


def container_environment(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield each changed variable of a container; those of metrics on one line."""
    old, new = change.before or {}, change.after or {}
    names = [item for item in sorted(old.keys() | new.keys()) if old.get(item) != new.get(item)]
    of_metrics = [value for value in names if any(word in value for word in METRICS)]
    for name in names:
        if name not in of_metrics and TWICE.get(name) not in names:
            sides = (text_of(side.get(name, "default"), {}) for side in (old, new))
            yield ChangeLine(f"{name.removeprefix('SAGEMAKER_TRITON_')} {arrow(*sides)}")
    if of_metrics:
        published = any(METRICS[0] in entry for entry in new)
        yield ChangeLine(
            f"Triton's own metrics {'published' if published else 'no longer published'}"
        )


def described_elsewhere(label: str, part: str) -> Describer:
    """Return a describer of values that ignores a part of them, which is shown elsewhere."""
    pattern = re.compile(part)

    def describe(change: PropertyChange) -> Iterator[ChangeLine]:
        texts = [pattern.sub("-<digest>", text) for text in change.texts]
        if texts[0] != texts[1]:
            yield ChangeLine(f"{label} {arrow(*texts)}")

    return describe


def role(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield another role; an existing role that may do more is a danger.

    A new role is compared with the one that it replaces, in `access`.
    """
    sides = [side[change.change.stack]["Resources"] if change.change.stack in side else {}
             for side in change.comparison.sides]  # fmt: skip
    roles = [next(references(value), None) for value in (change.before, change.after)]
    if roles[0] and roles[1] in sides[0] and may_do_more(sides[1], str(roles[0]), str(roles[1])):
        yield ChangeLine(f"runs as another role, which may do more: {change.arrow}", WIDENED)
    else:
        yield from shown(change)


def build(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield another location of an archive whose version and target stay."""
    versions = [(side["Properties"].get("Digest"), side["Properties"].get("Target"))
                for side in change.sides if side]  # fmt: skip
    if len(set(versions)) == 1:
        yield from shown(change)


def catalog_entry(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the differences in a catalog entry whose version stays."""
    old, new = (_parsed(side) for side in (change.before, change.after))
    if not (isinstance(old, dict) and isinstance(new, dict)):
        yield from shown(change)
    elif old.get("version") == new.get("version"):
        for difference in differences(old, new):
            yield ChangeLine(f"{change.path}.{difference}")


def _parsed(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else None
    except ValueError:
        return None


def build_commands(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield new commands of a build; one that downloads is a danger."""
    gone, added = changed_lines(*change.texts)
    downloads = [line for line in added if DOWNLOADS.search(line)]
    yield from (ChangeLine(f"the build runs: {line}", "build_downloads") for line in downloads)
    others = [line for line in added if line not in downloads]
    yield from (ChangeLine(f"the build runs: {line}") for line in others[:MOST_LINES])
    if gone:
        yield ChangeLine(f"{len(gone)} lines of the build's commands are gone")


def guard(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield that an endpoint loses the guard before its updates, or the check after them."""
    pair = change.pair
    is_gone = change.after is None and not is_moved(change, ("Endpoint",))
    if is_gone and pair and pair.before and pair.after:
        checks = change.change.type.removeprefix("Custom::Triton")
        yield ChangeLine(f"the endpoint is updated without {checks}", SAFEGUARDS)


def guarded_archives(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the models of an endpoint whose archives the guard no longer checks."""
    was, now = ({name.rpartition("-")[0] for name in side or ()}
                for side in (change.before, change.after))  # fmt: skip
    before, after = (change.pair.before, change.pair.after) if change.pair else (None, None)
    modes = [{item.mode for item in side.variants.values()} for side in (before, after) if side]
    kept = after.models if after and modes[0] == modes[-1] else ()
    if models := sorted((was - now) & {*kept}):
        text = f"updates no longer wait for the archives of {', '.join(models)}"
        yield ChangeLine(text, SAFEGUARDS)


def waits(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield added and removed dependencies on resources that exist before and after."""
    old, new = (side.get(change.change.stack, {}).get("Resources", {})
                for side in change.comparison.sides)  # fmt: skip
    was, now = ({*listed(item or [])} & old.keys() & new.keys()
                for item in (change.before, change.after))  # fmt: skip
    for name in sorted(was ^ now):
        is_checked = name in was and new[name]["Type"].startswith("Custom::Triton")
        text = f"DependsOn: {name} {'new' if name in now else 'gone'}"
        yield ChangeLine(text, SAFEGUARDS if is_checked else "")
