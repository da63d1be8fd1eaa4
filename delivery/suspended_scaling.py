"""Templates without the scaling of variants whose instance type changes."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from release.scaling_limits import SCALABLE_TARGET
from release.stack_endpoints import (
    ENDPOINT_CONFIG,
    StackEndpoint,
    StackVariant,
    scaled_variants_that_change,
    stack_variants,
)
from release.templates import Template, resources


@dataclass(frozen=True)
class SuspendedScaling:
    """Variants of an endpoint whose scaling is suspended during an update.

    The stack is first changed from `live_template` to `template_without` the variants' scaling.
    """

    endpoint: StackEndpoint
    variants: tuple[str, ...]
    live_template: Template
    template_without: Template

    def __str__(self) -> str:
        return f"{self.endpoint.name}: variant {', '.join(self.variants)}"


def suspend_scaling(
    endpoint: StackEndpoint, live: Template, new: Template
) -> SuspendedScaling | None:
    """Return the variants to suspend, None if the instance type of no scaled variant changes."""
    names = scaled_variants_that_change(_variants(endpoint, live), _variants(endpoint, new))
    if not names:
        return None
    return SuspendedScaling(endpoint, tuple(names), live, without_scaling(live, names))


def without_scaling(template: Template, variants: Collection[str]) -> Template:
    """Return a template without the scalable targets of `variants`, and their policies.

    CloudFormation refuses a template with a `DependsOn` of a missing resource (aws/aws-cdk#1568).
    """
    targets = [
        name
        for name, target in resources(template, SCALABLE_TARGET)
        if target["ResourceId"].rpartition("/")[2] in variants
    ]
    references = [{"Ref": name} for name in targets]
    remaining = {
        name: resource
        for name, resource in template["Resources"].items()
        if name not in targets
        and resource.get("Properties", {}).get("ScalingTargetId") not in references
    }
    return {
        **template,
        "Resources": {
            name: _without_missing(resource, remaining) for name, resource in remaining.items()
        },
    }


def _without_missing(resource: Any, present: Collection[str]) -> Any:
    """Return a resource without the `DependsOn` of resources that are not in `present`."""
    depends_on = resource.get("DependsOn", [])
    names = depends_on if isinstance(depends_on, list) else [depends_on]
    result = {name: value for name, value in resource.items() if name != "DependsOn"}
    if present_names := [name for name in names if name in present]:
        result["DependsOn"] = present_names
    return result


def _variants(endpoint: StackEndpoint, template: Template) -> list[StackVariant]:
    configs = resources(template, ENDPOINT_CONFIG)
    return [
        variant
        for _, config in configs
        for variant in stack_variants(template, endpoint.name, config)
    ]
