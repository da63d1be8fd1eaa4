"""A stack on its way from a scaled variant to one of other instances, or to none."""

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
from release.template_resources import resources
from release.tree import Template


@dataclass(frozen=True)
class Unscaled:
    """Variants of an endpoint that are not scaled while its stack changes from `live`.

    The stack has the template `without` their scaling in between.
    """

    endpoint: StackEndpoint
    variants: tuple[str, ...]
    live: Template
    without: Template

    def __str__(self) -> str:
        return f"{self.endpoint.name}: variant {', '.join(self.variants)}"


def unscaled(endpoint: StackEndpoint, live: Template, new: Template) -> Unscaled | None:
    """Return the stack in between, None where no scaled variant changes."""
    names = scaled_variants_that_change(_variants(endpoint, live), _variants(endpoint, new))
    if not names:
        return None
    return Unscaled(endpoint, tuple(names), live, without_scaling(live, names))


def without_scaling(template: Template, variants: Collection[str]) -> Template:
    """Return a template without the scalable targets of `variants`, and their policies.

    CloudFormation takes no template with a `DependsOn` of what is not in it (aws/aws-cdk#1568).
    """
    scaled = _scaled_variants(template).items()
    targets = [name for name, variant in scaled if variant in variants]
    references = [{"Ref": name} for name in targets]
    left = {
        name: resource
        for name, resource in template["Resources"].items()
        if name not in targets
        and resource.get("Properties", {}).get("ScalingTargetId") not in references
    }
    return {
        **template,
        "Resources": {name: _depending_on(resource, left) for name, resource in left.items()},
    }


def _depending_on(resource: Any, present: Collection[str]) -> Any:
    """Return a resource that depends on none but resources that are present."""
    depends_on = resource.get("DependsOn", [])
    listed = depends_on if isinstance(depends_on, list) else [depends_on]
    rest = {name: value for name, value in resource.items() if name != "DependsOn"}
    kept = [name for name in listed if name in present]
    return {**rest, "DependsOn": kept} if kept else rest


def _variants(endpoint: StackEndpoint, template: Template) -> list[StackVariant]:
    configs = resources(template, ENDPOINT_CONFIG)
    return [
        each for _, config in configs for each in stack_variants(template, endpoint.name, config)
    ]


def _scaled_variants(template: Template) -> dict[str, str]:
    """Return the logical ids of scalable targets, and the variant of each."""
    return {
        name: target["ResourceId"].rpartition("/")[2]
        for name, target in resources(template, SCALABLE_TARGET)
    }
