"""Endpoints, archives and catalog entries in the templates of a stage.

They are read from templates alone: a live stack, or an earlier commit, has no plan.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from release import parameters
from release.schedules import WeeklyLimits, weekly_limits
from release.tree import Template

ARCHIVE = "Custom::TritonModel"
ENDPOINT = "AWS::SageMaker::Endpoint"
ENDPOINT_CONFIG = "AWS::SageMaker::EndpointConfig"
COMPONENT = "AWS::SageMaker::InferenceComponent"
COMPONENTS = "InferenceComponents"
"""The mode of a variant whose instances host inference components, which has no Model."""
SCALABLE_TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
NO_INSTANCES = "no instances"


class Unresolved(Exception):
    """A template value that only CloudFormation can resolve; the message is its JSON."""


@dataclass(frozen=True)
class StackVariant:
    """A production or shadow variant: `initial` instances are those that it is created with.

    `instance_types` has the preferred one first, `mode` is that of its container. `minimum` and
    `maximum` are scaling's over a week, with the mean of each. Inference components keep at least
    one instance while they keep a copy; how many copies share one is not looked at.
    """

    name: str
    instance_types: tuple[str, ...]
    mode: str
    initial: int
    scaled: bool
    minimum: int
    maximum: int
    mean_minimum: float
    mean_maximum: float


@dataclass(frozen=True, kw_only=True)
class StackComponent:
    """An inference component, and its copies as a `StackVariant` has instances.

    Each copy reserves `accelerators` and `cpus` of an instance. `wakes` says whether one call that
    finds no copy adds one.
    """

    name: str
    accelerators: int
    cpus: float
    initial: int
    minimum: int
    maximum: int
    mean_minimum: float
    mean_maximum: float
    wakes: bool


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
    """An archive that an endpoint needs; `properties` are those of its custom resource."""

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
    configs = dict(resources(template, ENDPOINT_CONFIG))
    endpoints = []
    for logical_id, properties in resources(template, ENDPOINT):
        name, config = properties["EndpointName"], properties["EndpointConfigName"]["Fn::GetAtt"][0]
        variants = tuple(stack_variants(template, name, configs.get(config, {})))
        short_name = stack.removeprefix(f"{stage}-")
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
        logical_id, limits = _limits(template, f"endpoint/{endpoint}/variant/{name}", count)
        model = next(references(variant.get("ModelName")), "")
        mode = models.get(model, {}).get("PrimaryContainer", {}).get("Mode", "SingleModel")
        if "ModelName" not in variant:
            mode, limits = COMPONENTS, _managed(template, variant, limits)
        yield StackVariant(
            name=name,
            instance_types=instance_types(variant),
            mode=mode,
            initial=count,
            scaled=logical_id is not None,
            **limits._asdict(),
        )


def stack_components(template: Template) -> Iterator[StackComponent]:
    """Yield the inference components of a stack."""
    for logical_id, properties in resources(template, COMPONENT):
        name = str(properties.get("InferenceComponentName", logical_id))
        count = int(properties.get("RuntimeConfig", {}).get("CopyCount", 1))
        target, limits = _limits(template, f"inference-component/{name}", count)
        needs = properties.get("Specification", {}).get("ComputeResourceRequirements", {})
        yield StackComponent(
            name=name,
            accelerators=int(needs.get("NumberOfAcceleratorDevicesRequired", 0)),
            cpus=float(needs.get("NumberOfCpuCoresRequired", 0)),
            initial=count,
            wakes=_wakes(template, name, target),
            **limits._asdict(),
        )


def scaled_variants_that_change(
    before: Collection[StackVariant], after: Collection[StackVariant]
) -> list[str]:
    """Return the variants that are scaled before and get other instances.

    SageMaker refuses that while they are registered (developer guide, "Update endpoints that use
    auto scaling"). With several instance types, before or after, scaling stays (AWS machine
    learning blog, "Capacity-aware inference"). An update to variants of other names, or to other
    hosting, is refused however it is deployed: none changes then.
    """
    new = {variant.name: variant for variant in after}
    modes = [{variant.mode for variant in side} for side in (before, after)]
    if {variant.name for variant in before} != new.keys() or not modes[0] & modes[1]:
        return []
    return sorted(
        old.name
        for old in before
        if old.scaled
        and len(old.instance_types) == len(new[old.name].instance_types) == 1
        and new[old.name].instance_types != old.instance_types
    )


def _limits(template: Template, resource_id: str, count: int) -> tuple[str | None, WeeklyLimits]:
    """Return the logical id of what scales a resource, and its limits; without it, the count."""
    for logical_id, target in resources(template, SCALABLE_TARGET):
        if target["ResourceId"] == resource_id:
            return logical_id, weekly_limits(target)
    return None, WeeklyLimits(count, count, count, count)


def _managed(template: Template, variant: Mapping[str, Any], fixed: WeeklyLimits) -> WeeklyLimits:
    """Return the limits of instances that host components."""
    scaling = variant.get("ManagedInstanceScaling", {})
    if scaling.get("Status") != "ENABLED":
        return fixed
    least = int(scaling.get("MinInstanceCount", fixed.minimum))
    most = int(scaling.get("MaxInstanceCount", fixed.maximum))
    copies = list(stack_components(template))
    awake = max((min(each.minimum, 1) for each in copies), default=0)
    mean_awake = max((min(each.mean_minimum, 1.0) for each in copies), default=0.0)
    return WeeklyLimits(max(least, awake), most, max(least, mean_awake), most)


def _wakes(template: Template, component: str, target: str | None) -> bool:
    """Return whether an alarm on calls that found no copy is the action of a step that adds one.

    Source: developer guide, endpoint-auto-scaling-zero-instances; its alarm is on more than one.
    """
    steps = {
        logical_id
        for logical_id, policy in resources(template, "AWS::ApplicationAutoScaling::ScalingPolicy")
        if policy.get("PolicyType") == "StepScaling"
        and target in list(references(policy.get("ScalingTargetId")))
    }
    return any(
        alarm.get("MetricName") == "NoCapacityInvocationFailures"
        and {"Name": "InferenceComponentName", "Value": component} in alarm.get("Dimensions", ())
        and float(alarm.get("Threshold", 0)) <= ("OrEqual" in str(alarm.get("ComparisonOperator")))
        and not steps.isdisjoint(references(alarm.get("AlarmActions")))
        for _, alarm in resources(template, "AWS::CloudWatch::Alarm")
    )


def instance_types(variant: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the instance types of a variant, the preferred one first."""
    pools = sorted(variant.get("InstancePools", ()), key=lambda pool: int(pool["Priority"]))
    types = [pool["InstanceType"] for pool in pools] or [variant.get("InstanceType", NO_INSTANCES)]
    return tuple(types)


def archives(templates: Mapping[str, Template]) -> dict[str, StackArchive]:
    """Return the archives of all stacks, by their keys."""
    every = [
        StackArchive(properties["Key"], properties["Digest"], stack, properties)
        for stack, template in templates.items()
        for _, properties in resources(template, ARCHIVE)
    ]
    return {archive.key: archive for archive in sorted(every, key=lambda archive: archive.key)}


def catalog_entries(template: Template) -> dict[str, str]:
    """Return the catalog parameters that a template declares: name -> value."""
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
    """Return a text with its intrinsic functions resolved. Raise `Unresolved`.

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
