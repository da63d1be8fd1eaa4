"""The endpoint in a stack's template."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

import platform_facts
from release.stack_catalog import ARCHIVE, catalog_entries
from release.stack_endpoints import (
    ENDPOINT,
    ENDPOINT_CONFIG,
    StackComponent,
    StackVariant,
    stack_components,
    stack_variants,
)
from release.templates import Template, resources

UNNAMED = "an endpoint without a name"
"""Used in messages if CloudFormation generates the name of an endpoint."""


@dataclass(frozen=True, kw_only=True)
class TemplateModel:
    """A model in the catalog, with the build targets of its archive."""

    name: str
    version: str
    signature: dict[str, Any]
    targets: frozenset[str]
    component: str | None = None


@dataclass(frozen=True, kw_only=True)
class TemplateEndpoint:
    """An endpoint with its variants and models.

    release: Triton release, such as 25.09; `?` if the image is not a literal text.
    rollback_alarms: number of alarms that roll an update back.
    deployment: property DeploymentConfig.
    variants, shadows, components, models: name -> variant etc.; `shadows` are shadow variants.
    """

    name: str
    release: str
    rollback_alarms: int
    deployment: dict[str, Any] = field(default_factory=dict)
    variants: dict[str, StackVariant] = field(default_factory=dict)
    shadows: dict[str, StackVariant] = field(default_factory=dict)
    components: dict[str, StackComponent] = field(default_factory=dict)
    models: dict[str, TemplateModel] = field(default_factory=dict)


def parse_endpoint(template: Template) -> TemplateEndpoint | None:
    """Return the endpoint of a stack, None if the stack has no endpoint."""
    endpoint = next((properties for _, properties in resources(template, ENDPOINT)), None)
    config = next((properties for _, properties in resources(template, ENDPOINT_CONFIG)), None)
    if endpoint is None or config is None:
        return None
    name = endpoint.get("EndpointName", UNNAMED)
    variants, shadows = (
        {variant.name: variant for variant in stack_variants(template, name, config, key)}
        for key in ("ProductionVariants", "ShadowProductionVariants")
    )
    components = {component.name: component for component in stack_components(template)}
    deployment = endpoint.get("DeploymentConfig", {})
    return TemplateEndpoint(
        name=name,
        release=_release(template),
        rollback_alarms=len(deployment.get("AutoRollbackConfiguration", {}).get("Alarms", ())),
        deployment=deployment,
        variants={
            key: _with_component_minimum(variant, components) for key, variant in variants.items()
        },
        shadows=shadows,
        components=components,
        models=_models(template),
    )


def _with_component_minimum(
    variant: StackVariant, components: Mapping[str, StackComponent]
) -> StackVariant:
    """Return a variant whose minimum of instances has enough GPUs for the minimum of all copies."""
    try:
        gpus = platform_facts.instance_type(variant.instance_types[0]).gpu_count
    except platform_facts.UnknownFact:  # the type is missing in this commit's facts
        gpus = 0
    if not gpus:
        return variant
    minimum = mean = 0.0
    for component in components.values():
        minimum += component.accelerators * component.minimum
        mean += component.accelerators * component.mean_minimum
    return replace(
        variant,
        minimum=max(variant.minimum, ceil(minimum / gpus)),
        mean_minimum=max(variant.mean_minimum, mean / gpus),
    )


def _release(template: Template) -> str:
    for _, model in resources(template, "AWS::SageMaker::Model"):
        image = model.get("PrimaryContainer", {}).get("Image")
        if isinstance(image, str):
            return image.rpartition(":")[2].partition("-")[0]
    return "?"


def _models(template: Template) -> dict[str, TemplateModel]:
    entries = map(json.loads, catalog_entries(template).values())
    builds = [build for _, build in resources(template, ARCHIVE)]
    return {
        entry["model"]: TemplateModel(
            name=entry["model"],
            version=entry["version"],
            signature=entry["signature"],
            targets=frozenset(
                build["Target"] for build in builds if build["Model"] == entry["model"]
            ),
            component=entry.get("inference_component"),
        )
        for entry in entries
    }
