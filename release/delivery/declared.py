"""What a stack's template says of its endpoint."""

import json
from collections.abc import Collection, Iterator
from typing import Any

from release import parameters
from release.tree import Template


def resources(template: Template, kind: str) -> Iterator[tuple[str, Any]]:
    """Yield the logical id and the properties of every resource of a type."""
    for name, resource in template.get("Resources", {}).items():
        if resource["Type"] == kind:
            yield name, resource["Properties"]


def prefixes(template: Template) -> frozenset[str]:
    """Return where a multi-model endpoint finds archives: prefixes that end with a slash.

    Another endpoint has none. The bucket before them is an import.
    """
    containers = (it["PrimaryContainer"] for _, it in resources(template, "AWS::SageMaker::Model"))
    return frozenset(
        it["ModelDataUrl"]["Fn::Join"][1][-1].lstrip("/")
        for it in containers
        if it.get("Mode") == "MultiModel"
    )


def named_archives(template: Template) -> frozenset[str]:
    """Return the archives that the catalog names once the template is deployed."""
    entries = (
        json.loads(it["Value"])
        for _, it in resources(template, "AWS::SSM::Parameter")
        if it.get("Name", "").startswith(parameters.ROOT)
    )
    return frozenset(it["target_model"] for it in entries if it["target_model"])


def scaled_variants_that_change(live: Template, new: Template) -> list[str]:
    """Return the variants that the live template scales and the new one gives other instances.

    SageMaker refuses that while they are registered (developer guide, "Update endpoints that use
    auto scaling"). An update to variants of other names, or to other hosting, is refused however it
    is deployed: none changes then.
    """
    before, after = _instance_types(live), _instance_types(new)
    if before.keys() != after.keys() or bool(prefixes(live)) != bool(prefixes(new)):
        return []
    return sorted(
        variant
        for variant in _scaled_variants(live).values()
        if after.get(variant) != before.get(variant)
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


def _instance_types(template: Template) -> dict[str, str]:
    return {
        variant["VariantName"]: variant["InstanceType"]
        for _, config in resources(template, "AWS::SageMaker::EndpointConfig")
        for variant in config["ProductionVariants"]
    }


def _scaled_variants(template: Template) -> dict[str, str]:
    """Return the logical ids of scalable targets, and the variant of each."""
    return {
        name: it["ResourceId"].rpartition("/")[2]
        for name, it in resources(template, "AWS::ApplicationAutoScaling::ScalableTarget")
    }
