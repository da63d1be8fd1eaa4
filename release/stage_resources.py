"""What the templates of a stage deploy: endpoints, archives, catalog entries.

Templates alone are read: those of a live stack, and of an earlier commit, have no plan beside them.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from release import parameters
from release.tree import Template

ARCHIVE = "Custom::TritonModel"


class Unresolved(Exception):
    """A value that only CloudFormation knows; the message is its JSON."""


@dataclass(frozen=True)
class StackVariant:
    """A production variant; `max_count` is the most instances that scaling may ask for.

    `instance_types` has the preferred one first.
    """

    name: str
    instance_types: tuple[str, ...]
    instance_count: int
    max_count: int


@dataclass(frozen=True)
class StackEndpoint:
    """An endpoint of a stack.

    `short_name` is its name in the stage's file; `logical_id` and `config` are the logical ids of
    the endpoint and of its configuration; `properties` are the endpoint's.
    """

    name: str
    short_name: str
    stack: str
    config: str
    logical_id: str = ""
    variants: tuple[StackVariant, ...] = ()
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StackArchive:
    """An archive that an endpoint of a stack needs; `properties` are those of its build."""

    key: str
    digest: str
    stack: str
    properties: dict[str, Any]


def resources(template: Template, resource_type: str) -> Iterator[tuple[str, Any]]:
    """Yield the logical id and the properties of every resource of a type."""
    for name, resource in template.get("Resources", {}).items():
        if resource["Type"] == resource_type:
            yield name, resource.get("Properties", {})


def stack_endpoints(stage: str, stack: str, template: Template) -> list[StackEndpoint]:
    """Return the endpoints of a stack."""
    configs = dict(resources(template, "AWS::SageMaker::EndpointConfig"))
    maxima = _max_counts(template)
    endpoints = []
    for logical_id, properties in resources(template, "AWS::SageMaker::Endpoint"):
        name, config = properties["EndpointName"], properties["EndpointConfigName"]["Fn::GetAtt"][0]
        variants = [
            StackVariant(
                name=variant["VariantName"],
                instance_types=instance_types(variant),
                instance_count=int(variant["InitialInstanceCount"]),
                max_count=maxima.get(f"endpoint/{name}/variant/{variant['VariantName']}", 0),
            )
            for variant in configs.get(config, {}).get("ProductionVariants", ())
        ]
        short_name = name.removeprefix(f"{stage}-")
        endpoints.append(
            StackEndpoint(name, short_name, stack, config, logical_id, tuple(variants), properties)
        )
    return endpoints


def instance_types(variant: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the instance types of a production variant, the preferred first."""
    pools = sorted(variant.get("InstancePools", ()), key=lambda pool: int(pool["Priority"]))
    types = [pool["InstanceType"] for pool in pools] or [variant.get("InstanceType")]
    return tuple(name for name in types if name)


def archives(templates: Mapping[str, Template]) -> dict[str, StackArchive]:
    """Return the archives of all stacks, by their keys."""
    found = {
        properties["Key"]: StackArchive(properties["Key"], properties["Digest"], stack, properties)
        for stack, template in templates.items()
        for _, properties in resources(template, ARCHIVE)
    }
    return dict(sorted(found.items()))


def catalog_entries(template: Template) -> dict[str, str]:
    """Return the catalog parameters that a template declares: name -> value."""
    return {
        parameter["Name"]: parameter["Value"]
        for _, parameter in resources(template, "AWS::SSM::Parameter")
        if parameter.get("Name", "").startswith(parameters.ROOT)
    }


def named_archives(template: Template) -> frozenset[str]:
    """Return the archives that the catalog names once a template is deployed."""
    entries = map(json.loads, catalog_entries(template).values())
    return frozenset(entry["target_model"] for entry in entries if entry["target_model"])


def prefixes(template: Template) -> frozenset[str]:
    """Return where a multi-model endpoint loads archives from: prefixes that end with a slash.

    Another endpoint has none. The bucket before them is an import.
    """
    models = resources(template, "AWS::SageMaker::Model")
    containers = [properties["PrimaryContainer"] for _, properties in models]
    return frozenset(
        container["ModelDataUrl"]["Fn::Join"][1][-1].lstrip("/")
        for container in containers
        if container.get("Mode") == "MultiModel"
    )


def references(value: Any) -> Iterator[str]:
    """Yield the logical ids that a value refers to by Ref or Fn::GetAtt."""
    match value:
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), _]}:
            yield name
        case dict():
            for part in value.values():
                yield from references(part)
        case list():
            for part in value:
                yield from references(part)


def resolve(value: Any, known: Mapping[str, str]) -> str:
    """Return what CloudFormation makes of a text. Raises `Unresolved`.

    `known` has the values of references and imports by their names.
    """
    match value:
        case {"Ref": str(name)} | {"Fn::ImportValue": str(name)} if name in known:
            return known[name]
        case {"Fn::Join": [str(separator), list(parts)]}:
            return separator.join(resolve(part, known) for part in parts)
        case {"Fn::Sub": str(text)}:
            return re.sub(r"\$\{([^}!]+)\}", lambda match: resolve({"Ref": match[1]}, known), text)
        case dict() | list():
            raise Unresolved(json.dumps(value))
    return str(value)


def _max_counts(template: Template) -> dict[str, int]:
    """Return the most instances of each scaled variant, by its resource id: also by a schedule."""
    return {
        target["ResourceId"]: max(
            int(limits["MaxCapacity"])
            for limits in (
                target,
                *(action["ScalableTargetAction"] for action in target.get("ScheduledActions", ())),
            )
            if "MaxCapacity" in limits
        )
        for _, target in resources(template, "AWS::ApplicationAutoScaling::ScalableTarget")
    }
