"""What runs: variants, containers, builds, and the catalog's entries."""

import json
import re
from collections.abc import Iterator
from typing import Any

from release.review.access.gained import may_do_more
from release.review.describers.generic import is_moved, shown
from release.review.property_change import ChangeLine, Describer, PropertyChange
from release.review.values import arrow, changed_lines, differences, listed, text_of
from release.stage_resources import instance_types, references

METRICS = ("PUBLISH_METRICS", "ALLOW_METRICS", "CLOUDWATCH_LOG_GROUP", "METRIC_NAMESPACE")
"""What variables have in their names that publish Triton's metrics: `PublishedMetrics`."""

TWICE = {"SAGEMAKER_TRITON_OVERRIDE_PING_MODE": "SAGEMAKER_TRITON_PING_MODE"}
"""What another variable says, too."""

DOWNLOADS = re.compile(
    r"\b(curl|wget|nc|ncat|ftp|scp)\b|https?://|git clone|--(extra-)?index-url"
    r"|\b(pip3? install|npm (i|install)|apt(-get)? install)\b(?!.*--require-hashes)"
)
"""What brings to a build what no template and no lock names. Which belongs here is our choice."""

DIGEST = r"-[0-9a-f]{12}(?=\.tar\.gz)"
"""In the name of an archive, whose version the table of models has."""

RELEASE = r":\d\d\.\d\d-py3(-cpu)?$"
"""A tag of SageMaker's Triton images, which the endpoint's sentence has."""

WIDENED, SAFEGUARDS = "widened_access", "lost_safeguards"
MOST_LINES = 6


def policy(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield another version of the language of policies; access is compared by what it means."""
    versions = [side.get("Version", "none") if isinstance(side, dict) else None
                for side in (change.before, change.after)]  # fmt: skip
    if None not in versions and versions[0] != versions[1]:
        yield ChangeLine(f"{change.path}.Version: {arrow(*map(str, versions))}")


def variant(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a variant that is new, or gone."""
    if change.after is None:
        yield ChangeLine(f"variant {change.item} removed")
    else:
        count = change.after.get("InitialInstanceCount", 1)
        kinds = " or ".join(instance_types(change.after))
        yield ChangeLine(f"new variant {change.item}: {count} {kinds}")


def pools(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a variant's instance types in order, and archives that they load instead."""
    sides = change.before, change.after
    types = [" or ".join(instance_types({"InstancePools": side})) if side else "none"
             for side in sides]  # fmt: skip
    if types[0] != types[1]:
        yield ChangeLine(f"instance types of {change.item}: {arrow(*types)}")


def shadow_variant(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield that a copy of requests goes to another model (CreateEndpointConfig)."""
    if change.before is None:
        kind = change.after.get("InstanceType", "?")
        count = change.after.get("InitialInstanceCount", 1)
        text = f"a copy of requests goes to the shadow variant {change.item} on {count} {kind}"
        yield ChangeLine(text, "new_recipients")
    else:
        yield ChangeLine(f"the shadow variant {change.item}: removed")


def container_environment(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield each variable of a container; those that publish metrics in one line."""
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
    """Return a describer that shows both values, where more than a part of them differs."""
    pattern = re.compile(part)

    def describe(change: PropertyChange) -> Iterator[ChangeLine]:
        texts = [pattern.sub("-<digest>", text) for text in change.texts]
        if texts[0] != texts[1]:
            yield ChangeLine(f"{label} {arrow(*texts)}")

    return describe


def role(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield another role; one that was there and may do more is a danger.

    A role that is new is compared with the one whose place it takes.
    """
    sides = [side[change.change.stack]["Resources"] if change.change.stack in side else {}
             for side in change.comparison.sides]  # fmt: skip
    roles = [next(references(value), None) for value in (change.before, change.after)]
    if roles[0] and roles[1] in sides[0] and may_do_more(sides[1], str(roles[0]), str(roles[1])):
        yield ChangeLine(f"runs as another role, which may do more: {change.arrow}", WIDENED)
    else:
        yield from shown(change)


def build(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield another place of an archive, unless its model has another version, or target."""
    versions = [(side["Properties"].get("Digest"), side["Properties"].get("Target"))
                for side in change.sides if side]  # fmt: skip
    if len(set(versions)) == 1:
        yield from shown(change)


def catalog_entry(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield what differs in the catalog's entry of a version; the table of models has others."""
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
    """Yield the lines that a build runs anew; one that downloads is a danger."""
    gone, added = changed_lines(*change.texts)
    downloads = [line for line in added if DOWNLOADS.search(line)]
    yield from (ChangeLine(f"the build runs: {line}", "build_downloads") for line in downloads)
    others = [line for line in added if line not in downloads]
    yield from (ChangeLine(f"the build runs: {line}") for line in others[:MOST_LINES])
    if gone:
        yield ChangeLine(f"{len(gone)} lines of the build's commands are gone")


def guard(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield that an endpoint that stays is updated without the guard, or the check after it."""
    pair = change.pair
    is_gone = change.after is None and not is_moved(change, ("Endpoint",))
    if is_gone and pair and pair.before and pair.after:
        checks = change.change.type.removeprefix("Custom::Triton")
        yield ChangeLine(f"the endpoint is updated without {checks}", SAFEGUARDS)


def guarded_archives(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the models of an endpoint whose archives the guard does not look for any more."""
    was, now = ({name.rpartition("-")[0] for name in side or ()}
                for side in (change.before, change.after))  # fmt: skip
    before, after = (change.pair.before, change.pair.after) if change.pair else (None, None)
    modes = [{item.mode for item in side.variants.values()} for side in (before, after) if side]
    kept = after.models if after and modes[0] == modes[-1] else ()
    if models := sorted((was - now) & {*kept}):
        text = f"updates no longer wait for the archives of {', '.join(models)}"
        yield ChangeLine(text, SAFEGUARDS)


def waits(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield resources that another waits for, of those that stay: new and deleted ones are told."""
    old, new = (side.get(change.change.stack, {}).get("Resources", {})
                for side in change.comparison.sides)  # fmt: skip
    was, now = ({*listed(item or [])} & old.keys() & new.keys()
                for item in (change.before, change.after))  # fmt: skip
    for name in sorted(was ^ now):
        is_checked = name in was and new[name]["Type"].startswith("Custom::Triton")
        text = f"DependsOn: {name} {'new' if name in now else 'gone'}"
        yield ChangeLine(text, SAFEGUARDS if is_checked else "")
