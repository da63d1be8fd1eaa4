"""What a stack's template declares of its endpoint."""

import json
from dataclasses import dataclass, field
from typing import Any

from release import parameters
from release.review.schedules import WeeklyLimits, limits
from release.stage_resources import instance_types
from release.tree import Template

UNNAMED = "an endpoint without a name"
"""CloudFormation would make one up, which no client knows."""


@dataclass(frozen=True, kw_only=True)
class DeclaredVariant:
    """A production or shadow variant: `initial` instances are those that it is created with.

    `instance_types` has the preferred one first.
    `minimum` and `maximum` are scaling's over a week, with the mean of each. `target` is what a
    multi-model variant's archives are built for, None for a single model.
    """

    name: str
    instance_types: tuple[str, ...]
    weight: float
    mode: str
    initial: int
    minimum: int
    maximum: int
    mean_minimum: float
    mean_maximum: float
    scaled: bool
    target: str | None

    @property
    def instance_type(self) -> str:
        """Its instance type, or all of them in order."""
        return " or ".join(self.instance_types)

    @property
    def range(self) -> str:
        """How many instances there may be."""
        low, high = self.minimum, self.maximum
        return str(low) if low == high else f"{low}-{high}"


@dataclass(frozen=True, kw_only=True)
class DeclaredModel:
    """A model's catalog entry, and the builds that provide its archive: target -> digest."""

    name: str
    version: str
    signature: dict[str, Any]
    builds: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class DeclaredEndpoint:
    """An endpoint with what surrounds it in its stack.

    `deployment` is its DeploymentConfig, `rollback_alarms` how many alarms roll an update back.
    `shadows` get copies of requests.
    """

    name: str
    release: str
    rollback_alarms: int
    deployment: dict[str, Any] = field(default_factory=dict)
    variants: dict[str, DeclaredVariant] = field(default_factory=dict)
    shadows: dict[str, DeclaredVariant] = field(default_factory=dict)
    models: dict[str, DeclaredModel] = field(default_factory=dict)


def endpoint_of(template: Template) -> DeclaredEndpoint | None:
    """Read a stack's endpoint, None where it has none."""
    resources = template.get("Resources", {})
    endpoint = next(_of_type(resources, "AWS::SageMaker::Endpoint"), None)
    config = next(_of_type(resources, "AWS::SageMaker::EndpointConfig"), None)
    if endpoint is None or config is None:
        return None
    name = endpoint.get("EndpointName", UNNAMED)
    variants, shadows = (
        {each["VariantName"]: _variant(each, resources, name) for each in config.get(key, ())}
        for key in ("ProductionVariants", "ShadowProductionVariants")
    )
    deployment = endpoint.get("DeploymentConfig", {})
    return DeclaredEndpoint(
        name=name,
        release=_release(resources),
        rollback_alarms=len(deployment.get("AutoRollbackConfiguration", {}).get("Alarms", ())),
        deployment=deployment,
        variants=variants,
        shadows=shadows,
        models=_models(resources),
    )


def _of_type(resources: dict[str, Any], resource_type: str) -> Any:
    every = resources.values()
    return (resource["Properties"] for resource in every if resource["Type"] == resource_type)


def _variant(variant: dict[str, Any], resources: dict[str, Any], endpoint: str) -> DeclaredVariant:
    resource_id = f"endpoint/{endpoint}/variant/{variant['VariantName']}"
    targets = _of_type(resources, "AWS::ApplicationAutoScaling::ScalableTarget")
    target = next((each for each in targets if each["ResourceId"] == resource_id), None)
    count = variant.get("InitialInstanceCount", 1)
    range_ = limits(target) if target else WeeklyLimits(count, count, count, count)
    model = _container(variant.get("ModelName"), resources)
    return DeclaredVariant(
        name=variant["VariantName"],
        instance_types=instance_types(variant) or ("no instances",),
        weight=variant.get("InitialVariantWeight", 1),
        mode=model.get("Mode", "SingleModel"),
        initial=count,
        **range_._asdict(),
        scaled=target is not None,
        target=_target(model),
    )


def _container(model: Any, resources: dict[str, Any]) -> dict[str, Any]:
    """Return the container of a variant's model, nothing of one that is not in the template."""
    match model:
        case {"Fn::GetAtt": [str(name), *_]} if name in resources:
            container: dict[str, Any] = resources[name]["Properties"].get("PrimaryContainer", {})
            return container
    return {}


def _target(container: dict[str, Any]) -> str | None:
    """Return the last folder of a multi-model container's prefix."""
    match container.get("ModelDataUrl"):
        case {"Fn::Join": [_, [*_, str(prefix)]]} if container.get("Mode") == "MultiModel":
            return prefix.rstrip("/").rpartition("/")[2]
    return None


def _release(resources: dict[str, Any]) -> str:
    for model in _of_type(resources, "AWS::SageMaker::Model"):
        image = model.get("PrimaryContainer", {}).get("Image")
        if isinstance(image, str):
            return image.rpartition(":")[2].partition("-")[0]
    return "?"


def _models(resources: dict[str, Any]) -> dict[str, DeclaredModel]:
    builds: dict[str, dict[str, str]] = {}
    for build in _of_type(resources, "Custom::TritonModel"):
        builds.setdefault(build["Model"], {})[build["Target"]] = build["Digest"]
    models = {}
    for parameter in _of_type(resources, "AWS::SSM::Parameter"):
        if parameter.get("Name", "").startswith(parameters.ROOT):
            entry = json.loads(parameter["Value"])
            models[entry["model"]] = DeclaredModel(
                name=entry["model"],
                version=entry["version"],
                signature=entry["signature"],
                builds=builds.get(entry["model"], {}),
            )
    return models
