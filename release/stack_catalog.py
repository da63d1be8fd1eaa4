"""Archives and catalog entries in the templates of a stage."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plan import parameters
from release.templates import Template, resources

ARCHIVE = "Custom::TritonModel"


@dataclass(frozen=True)
class StackArchive:
    """An archive that an endpoint needs; `properties` are those of its custom resource."""

    key: str
    digest: str
    stack: str
    properties: dict[str, Any]


def archives(templates: Mapping[str, Template]) -> dict[str, StackArchive]:
    """Return key -> archive, sorted by key, for the archives of all stacks."""
    by_key = {
        properties["Key"]: StackArchive(properties["Key"], properties["Digest"], stack, properties)
        for stack, template in templates.items()
        for _, properties in resources(template, ARCHIVE)
    }
    return dict(sorted(by_key.items()))


def catalog_entries(template: Template) -> dict[str, str]:
    """Return name -> value of the catalog parameters in a template."""
    return {
        parameter["Name"]: parameter["Value"]
        for _, parameter in resources(template, "AWS::SSM::Parameter")
        if parameter.get("Name", "").startswith(parameters.ROOT)
    }


def named_archives(template: Template) -> frozenset[str]:
    """Return the archives that the catalog entries of a template name."""
    entries = map(json.loads, catalog_entries(template).values())
    return frozenset(entry["target_model"] for entry in entries if entry["target_model"])


def prefixes(template: Template) -> frozenset[str]:
    """Return the S3 prefixes, with a slash at the end, that multi-model endpoints load from.

    The URL's bucket is an import. A single-model endpoint has no prefix.
    """
    models = resources(template, "AWS::SageMaker::Model")
    containers = [properties["PrimaryContainer"] for _, properties in models]
    return frozenset(
        container["ModelDataUrl"]["Fn::Join"][1][-1].lstrip("/")
        for container in containers
        if container.get("Mode") == "MultiModel"
    )
