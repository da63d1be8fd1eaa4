"""The endpoint that a stack's template declares."""

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
from release.template_resources import resources
from release.tree import Template

UNNAMED = "an endpoint without a name"
"""CloudFormation would generate a name, which no client knows."""


@dataclass(frozen=True, kw_only=True)
class DeclaredModel:
    """A model's catalog entry, with the build targets of its archive."""

    name: str
    version: str
    signature: dict[str, Any]
    targets: frozenset[str]
    component: str | None = None


@dataclass(frozen=True, kw_only=True)
class DeclaredEndpoint:
    """An endpoint with its variants and models.

    `deployment` is its DeploymentConfig, `rollback_alarms` the number of alarms that roll an update
    back, `shadows` are its shadow variants.
    """

    name: str
    release: str
    rollback_alarms: int
    deployment: dict[str, Any] = field(default_factory=dict)
    variants: dict[str, StackVariant] = field(default_factory=dict)
    shadows: dict[str, StackVariant] = field(default_factory=dict)
    components: dict[str, StackComponent] = field(default_factory=dict)
    models: dict[str, DeclaredModel] = field(default_factory=dict)


def endpoint_of(template: Template) -> DeclaredEndpoint | None:
    """Return a stack's endpoint, None if it has none."""
    endpoint = next((properties for _, properties in resources(template, ENDPOINT)), None)
    config = next((properties for _, properties in resources(template, ENDPOINT_CONFIG)), None)
    if endpoint is None or config is None:
        return None
    name = endpoint.get("EndpointName", UNNAMED)
    variants, shadows = (
        {variant.name: variant for variant in stack_variants(template, name, config, key)}
        for key in ("ProductionVariants", "ShadowProductionVariants")
    )
    components = {each.name: each for each in stack_components(template)}
    deployment = endpoint.get("DeploymentConfig", {})
    return DeclaredEndpoint(
        name=name,
        release=_release(template),
        rollback_alarms=len(deployment.get("AutoRollbackConfiguration", {}).get("Alarms", ())),
        deployment=deployment,
        variants={key: _with_copies(each, components) for key, each in variants.items()},
        shadows=shadows,
        components=components,
        models=_models(template),
    )


def _with_copies(variant: StackVariant, components: Mapping[str, StackComponent]) -> StackVariant:
    """Return a variant with at least the instances whose GPUs the fewest copies reserve."""
    try:
        gpus = platform_facts.instance_type(variant.instance_types[0]).gpu_count
    except platform_facts.UnknownFact:  # of a commit that knew it
        gpus = 0
    if not gpus:
        return variant
    copies = components.values()
    least = ceil(sum(each.accelerators * each.minimum for each in copies) / gpus)
    mean = sum(each.accelerators * each.mean_minimum for each in copies) / gpus
    return replace(
        variant,
        minimum=max(variant.minimum, least),
        mean_minimum=max(variant.mean_minimum, mean),
    )


def _release(template: Template) -> str:
    for _, model in resources(template, "AWS::SageMaker::Model"):
        image = model.get("PrimaryContainer", {}).get("Image")
        if isinstance(image, str):
            return image.rpartition(":")[2].partition("-")[0]
    return "?"


def _models(template: Template) -> dict[str, DeclaredModel]:
    entries = map(json.loads, catalog_entries(template).values())
    builds = [build for _, build in resources(template, ARCHIVE)]
    return {
        entry["model"]: DeclaredModel(
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
