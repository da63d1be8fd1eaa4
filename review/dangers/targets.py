"""Dangers of properties that refer to other accounts, buckets, registries or hosts than before."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from release.templates import Template, resources
from review.comparison import Comparison
from review.dangers.danger import Danger, digest
from review.files.model_code import PACKAGES, named_hosts
from review.template_changes import property_changes
from review.values import format_value

TARGETS = {
    "account": re.compile(r"arn:aws[\w-]*:[\w-]*:[\w-]*:(\d{12})\b|\b(\d{12})\.dkr\.ecr\."),
    "bucket": re.compile(r"\bs3://([a-z0-9][a-z0-9.-]+)|arn:aws[\w-]*:s3:::([a-z0-9][a-z0-9.-]+)"),
    "host": re.compile(
        r"\b(?!s3:)[a-z][a-z0-9+.-]*://(?:[^/@\s\"]*@)?([\w.-]+)"
        r"|(?<![\w./@-])((?:[a-z0-9-]+\.)+[a-z]{2,}):\d{2,5}\b",
        re.IGNORECASE,
    ),
    "security group": re.compile(r"\b(sg-[0-9a-f]{8,17})\b"),
}
"""Kind of target -> pattern in the JSON of a value."""
LOCAL_HOST = re.compile(r"localhost$|127\.|10\.|192\.168\.|169\.254\.|0\.0\.0\.0$")
"""Hosts that need no route to the internet."""
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
            name = f"{change.resource.stack}/{change.resource.path}"
            danger = _danger(target, f"{change.resource.type} {name}", change.text)
            yield replace(danger, place=change.place)
            is_called = target[0] == "host" and change.resource.type == "AWS::SageMaker::Model"
            if is_called and change.resource.stack in comparison.endpoints:
                setting = change.path.rpartition(".")[2]
                endpoint = comparison.endpoints[change.resource.stack].name
                yield from _unreachable(comparison, target[1], setting, [endpoint])
    for stack, template in after.items():
        for name, output in _outputs(template).items():
            for target in sorted({*_targets(output, "")} - known):
                yield _danger(target, f"{stack}: output {name}", format_value(output))


def unreachable_hosts(comparison: Comparison) -> Iterator[Danger]:
    """The code of a model in a network without internet access newly names a host."""
    plan, folder, old_folder = comparison.plan_after, comparison.models, comparison.old_models
    if plan is None or folder is None or old_folder is None:
        return
    for name in sorted(
        {model for endpoint in plan.endpoints.values() for model in endpoint.models}
    ):
        old, new = (
            named_hosts({str(path): path.read_bytes() for path in side.glob("**/*.py")})
            for side in (old_folder / name, folder / name)
        )
        endpoints = [
            endpoint.settings.name
            for endpoint in plan.endpoints.values()
            if name in endpoint.models
        ]
        for host in sorted(new - old):
            reason = " (pip install, in the load of the model)" if host == PACKAGES else ""
            yield from _unreachable(comparison, host, f"the code of {name}{reason}", endpoints)


def _unreachable(
    comparison: Comparison, host: str, source: str, endpoints: list[str]
) -> Iterator[Danger]:
    """Yield that a host is out of reach, if the stage's own network has no route to it."""
    plan = comparison.plan_after
    if plan is None or plan.settings.get("private_network") is not True:
        return
    services = set[str]()
    for template in comparison.templates[1].values():
        for _, properties in resources(template, "AWS::EC2::VPCEndpoint"):
            services.add(format_value(properties.get("ServiceName")).rpartition(".")[2])
        if any(True for _ in resources(template, "AWS::EC2::Route")):
            return  # to another network, perhaps the internet
    is_service = host.endswith("amazonaws.com") and services & {*host.split(".")}
    if not is_service and not LOCAL_HOST.match(host):
        yield Danger(
            f"{host}.{digest(source)}",
            f"{', '.join(endpoints)}: the private network has no route to {host}, which {source} "
            "names: each connection waits until its time-out, and fails",
            rule="foreign_targets",
            group=f"route.{host}.{source}",
        )


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
