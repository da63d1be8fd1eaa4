"""A stack on its way from a scaled variant to one of other instances, or to none."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from release.stage_resources import StackEndpoint, instance_types, prefixes, resources
from release.tree import Template


@dataclass(frozen=True)
class Unscaled:
    """Variants that are not scaled while their stack changes from `live`: it is `without` first."""

    endpoint: StackEndpoint
    names: tuple[str, ...]
    live: Template
    without: Template

    @property
    def variants(self) -> str:
        """The variants, as a line says them."""
        return f"variant {', '.join(self.names)}"

    @property
    def left(self) -> str:
        """What to say where scaling may not have been brought back."""
        return (
            f"{self.endpoint.name}: {self.variants} may run without scaling, with the instances "
            "that it has, until the stage is delivered again"
        )


def unscaled(endpoint: StackEndpoint, live: Template, new: Template) -> Unscaled | None:
    """Return how a stack is in between, None where no scaled variant changes."""
    names = scaled_variants_that_change(live, new)
    if not names:
        return None
    return Unscaled(endpoint, tuple(names), live, without_scaling(live, names))


def scaled_variants_that_change(live: Template, new: Template) -> list[str]:
    """Return the variants that the live template scales and the new one gives other instances.

    SageMaker refuses that while they are registered (developer guide, "Update endpoints that use
    auto scaling"). With several instance types, before or after, scaling stays (AWS machine
    learning blog, "Capacity-aware inference"). An update to variants of other names, or to other
    hosting, is refused however it is deployed: none changes then.
    """
    before, after = _instance_types(live), _instance_types(new)
    if before.keys() != after.keys() or bool(prefixes(live)) != bool(prefixes(new)):
        return []
    return sorted(
        variant
        for variant in _scaled_variants(live).values()
        if variant in before
        and len(before[variant]) == len(after[variant]) == 1
        and after[variant] != before[variant]
    )


def without_scaling(template: Template, variants: list[str]) -> Template:
    """Return a template without the scalable targets of `variants`, and what refers to them.

    CloudFormation takes no template with a `DependsOn` of what is not in it (aws/aws-cdk#1568).
    """
    targets = [name for name, it in _scaled_variants(template).items() if it in variants]
    left = {
        name: it
        for name, it in template["Resources"].items()
        if name not in targets
        and it.get("Properties", {}).get("ScalingTargetId") not in [{"Ref": it} for it in targets]
    }
    return {
        **template,
        "Resources": {name: _depending_on(it, left.keys()) for name, it in left.items()},
    }


def _depending_on(resource: Any, there: Collection[str]) -> Any:
    if "DependsOn" not in resource:
        return resource
    named = resource["DependsOn"]
    listed = named if isinstance(named, list) else [named]
    rest = {name: it for name, it in resource.items() if name != "DependsOn"}
    kept = [it for it in listed if it in there]
    return {**rest, "DependsOn": kept} if kept else rest


def _instance_types(template: Template) -> dict[str, tuple[str, ...]]:
    return {
        variant["VariantName"]: instance_types(variant)
        for _, config in resources(template, "AWS::SageMaker::EndpointConfig")
        for variant in config["ProductionVariants"]
    }


def _scaled_variants(template: Template) -> dict[str, str]:
    """Return the logical ids of scalable targets, and the variant of each."""
    return {
        name: it["ResourceId"].rpartition("/")[2]
        for name, it in resources(template, "AWS::ApplicationAutoScaling::ScalableTarget")
    }
