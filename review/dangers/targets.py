"""Dangers of properties that refer to other accounts, buckets, registries or hosts than before."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from release.templates import Template
from review.comparison import Comparison
from review.dangers.danger import Danger
from review.template_changes import property_changes
from review.values import format_value

TARGETS = {
    "account": re.compile(r"arn:aws[\w-]*:[\w-]*:[\w-]*:(\d{12})\b|\b(\d{12})\.dkr\.ecr\."),
    "bucket": re.compile(r"\bs3://([a-z0-9][a-z0-9.-]+)|arn:aws[\w-]*:s3:::([a-z0-9][a-z0-9.-]+)"),
    "host": re.compile(r"\b(?!s3:)[a-z][a-z0-9+.-]*://(?:[^/@\s\"]*@)?([\w.-]+)", re.IGNORECASE),
    "security group": re.compile(r"\b(sg-[0-9a-f]{8,17})\b"),
}
"""Kind of target -> pattern in the JSON of a value."""
NAMED = {
    "bucket": re.compile(r"(S3Bucket|DestinationBucketName)$"),
    "registry": re.compile(r"(^|\.)Image$"),
}
"""Kind of target -> paths of properties whose text begins with its name, before a slash."""


def foreign_targets(comparison: Comparison) -> Iterator[Danger]:
    """A property or an output refers to an account, bucket, registry or host that none did before.

    Such as the code of a function, a custom resource's function, the destination of data capture.
    Policies have rules of their own, and a new stage has no targets to compare with.
    """
    before, after = comparison.templates
    if not before:
        return
    known = {target for template in before.values() for target in _targets(template, "")}
    known |= {("account", str(plan.account)) for plan in comparison.plans}
    for change in property_changes(comparison):
        if change.is_access:
            continue
        for target in sorted({*_targets(change.after, change.path)} - known):
            name = f"{change.change.stack}/{change.change.path}"
            danger = _danger(target, f"{change.change.type} {name}", change.text)
            yield replace(danger, place=change.place)
    for stack, template in after.items():
        for name, output in _outputs(template).items():
            for target in sorted({*_targets(output, "")} - known):
                yield _danger(target, f"{stack}: output {name}", format_value(output))


def _danger(target: tuple[str, str], place: str, value: str) -> Danger:
    kind, name = target
    text = f"{place}: refers to the {kind} {name}, which nothing in this stage did before: {value}"
    return Danger(f"{kind}.{name}", text, group=f"{kind}.{name}")


def _outputs(template: Template) -> Mapping[str, Any]:
    outputs = template.get("Outputs", {})
    return outputs if isinstance(outputs, dict) else {}


def _targets(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield kind and name of each target in a value, whose property has a path."""
    text = json.dumps(value)
    for kind, pattern in TARGETS.items():
        for match in pattern.finditer(text):
            yield kind, next(filter(None, match.groups()))
    yield from _named(value, path)


def _named(value: Any, path: str) -> Iterator[tuple[str, str]]:
    match value:
        case dict():
            for name, item in value.items():
                yield from _named(item, f"{path}.{name}" if path else str(name))
        case list():
            for item in value:
                yield from _named(item, path)
        case str():
            for kind, pattern in NAMED.items():
                # The registry of an account in ECR is the account.
                if pattern.search(path) and not TARGETS["account"].match(value):
                    yield kind, value.partition("/")[0]
