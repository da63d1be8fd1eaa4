"""Endpoints, variants and inference components in the templates of a stage.

They are read from templates, not from a plan, because a live stack and old commits have no plan.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from release.scaling_limits import has_scale_from_zero_alarm, scaling_limits
from release.schedules import WeeklyLimits
from release.templates import Template, references, resources

ENDPOINT = "AWS::SageMaker::Endpoint"
ENDPOINT_CONFIG = "AWS::SageMaker::EndpointConfig"
COMPONENT = "AWS::SageMaker::InferenceComponent"
COMPONENTS = "InferenceComponents"
"""The mode of a variant whose instances host inference components, which has no Model."""
NO_INSTANCES = "no instances"


@dataclass(frozen=True, kw_only=True)
class _Scalable:
    """The number of instances or copies: at creation, and the limits of scaling over a week."""

    name: str
    initial: int
    minimum: int
    maximum: int
    mean_minimum: float
    mean_maximum: float


@dataclass(frozen=True, kw_only=True)
class StackVariant(_Scalable):
    """A production or shadow variant, and its number of instances.

    instance_types: the preferred type first.
    mode: mode of the container, or `COMPONENTS`. While an inference component has a copy, the
        minimum is at least one instance; how many copies fit on one instance is not computed.
    scaled: whether the variant has a scalable target.
    """

    instance_types: tuple[str, ...]
    mode: str
    scaled: bool


@dataclass(frozen=True, kw_only=True)
class StackComponent(_Scalable):
    """An inference component, and its number of copies.

    accelerators, cpus: GPUs and vCPUs of an instance that each copy reserves.
    scales_from_zero: whether one call that fails without a copy starts a copy.
    """

    accelerators: int
    cpus: float
    scales_from_zero: bool


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


def stack_endpoints(stage: str, templates: Mapping[str, Template]) -> list[StackEndpoint]:
    """Return the endpoints of a stage's stacks; `templates` is stack name -> template."""
    endpoints = []
    for stack, template in templates.items():
        configs = dict(resources(template, ENDPOINT_CONFIG))
        short_name = stack.removeprefix(f"{stage}-")
        for logical_id, properties in resources(template, ENDPOINT):
            name = properties["EndpointName"]
            config = properties["EndpointConfigName"]["Fn::GetAtt"][0]
            variants = tuple(stack_variants(template, name, configs.get(config, {})))
            endpoints.append(
                StackEndpoint(name, short_name, stack, config, logical_id, variants, properties)
            )
    return endpoints


def stack_variants(
    template: Template, endpoint: str, config: Mapping[str, Any], key: str = "ProductionVariants"
) -> Iterator[StackVariant]:
    """Yield the variants of an endpoint's configuration, or its ShadowProductionVariants."""
    models = dict(resources(template, "AWS::SageMaker::Model"))
    for variant in config.get(key, ()):
        name, count = variant["VariantName"], int(variant.get("InitialInstanceCount", 1))
        target, limits = scaling_limits(template, f"endpoint/{endpoint}/variant/{name}", count)
        model = next(references(variant.get("ModelName")), "")
        mode = models.get(model, {}).get("PrimaryContainer", {}).get("Mode", "SingleModel")
        if "ModelName" not in variant:
            components = list(stack_components(template))
            mode, limits = COMPONENTS, _managed_limits(variant, limits, components)
        yield StackVariant(
            name=name,
            instance_types=instance_types(variant),
            mode=mode,
            initial=count,
            scaled=target is not None,
            **limits._asdict(),
        )


def stack_components(template: Template) -> Iterator[StackComponent]:
    """Yield the inference components of a stack."""
    for logical_id, properties in resources(template, COMPONENT):
        name = str(properties.get("InferenceComponentName", logical_id))
        count = int(properties.get("RuntimeConfig", {}).get("CopyCount", 1))
        target, limits = scaling_limits(template, f"inference-component/{name}", count)
        needs = properties.get("Specification", {}).get("ComputeResourceRequirements", {})
        yield StackComponent(
            name=name,
            accelerators=int(needs.get("NumberOfAcceleratorDevicesRequired", 0)),
            cpus=float(needs.get("NumberOfCpuCoresRequired", 0)),
            initial=count,
            scales_from_zero=has_scale_from_zero_alarm(template, name, target),
            **limits._asdict(),
        )


def _managed_limits(
    variant: Mapping[str, Any], fixed: WeeklyLimits, components: Collection[StackComponent]
) -> WeeklyLimits:
    """Return the limits of instances that host `components`, which run while a copy runs."""
    scaling = variant.get("ManagedInstanceScaling", {})
    if scaling.get("Status") != "ENABLED":
        return fixed
    low = int(scaling.get("MinInstanceCount", fixed.minimum))
    high = int(scaling.get("MaxInstanceCount", fixed.maximum))
    in_use = max((min(component.minimum, 1) for component in components), default=0)
    mean_in_use = max((min(component.mean_minimum, 1.0) for component in components), default=0.0)
    return WeeklyLimits(max(low, in_use), high, max(low, mean_in_use), high)


def scaled_variants_that_change(
    before: Collection[StackVariant], after: Collection[StackVariant]
) -> list[str]:
    """Return the names of scaled variants whose instance type changes.

    SageMaker rejects such an update while the variants are registered for scaling (developer guide,
    "Update endpoints that use auto scaling"). A variant with several instance types, before or
    after, may stay registered (AWS machine learning blog, "Capacity-aware inference"). The result
    is empty for an update that is rejected in any case: to other variant names or another hosting
    mode.
    """
    new = {variant.name: variant for variant in after}
    modes = [{variant.mode for variant in variants} for variants in (before, after)]
    if {variant.name for variant in before} != new.keys() or not modes[0] & modes[1]:
        return []
    return sorted(
        old.name
        for old in before
        if old.scaled
        and len(old.instance_types) == len(new[old.name].instance_types) == 1
        and new[old.name].instance_types != old.instance_types
    )


def instance_types(variant: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the instance types of a variant, the preferred one first."""
    pools = sorted(variant.get("InstancePools", ()), key=lambda pool: int(pool["Priority"]))
    types = [pool["InstanceType"] for pool in pools] or [variant.get("InstanceType", NO_INSTANCES)]
    return tuple(types)
