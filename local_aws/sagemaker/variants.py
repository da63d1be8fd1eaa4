"""An endpoint's production variants, as DescribeEndpoint has them."""

from typing import Any

Record = dict[str, Any]

DESIRED = {"DesiredInstanceCount": "InstanceCount", "DesiredWeight": "Weight"}
"""What can be retained or set by hand; DescribeEndpoint has it as current and as desired."""


def described(config: Record) -> list[Record]:
    """Return the variants of a configuration."""
    return [
        {
            "VariantName": variant["VariantName"],
            "CurrentWeight": variant.get("InitialVariantWeight", 1.0),
            "DesiredWeight": variant.get("InitialVariantWeight", 1.0),
            "CurrentInstanceCount": variant["InitialInstanceCount"],
            "DesiredInstanceCount": variant["InitialInstanceCount"],
        }
        for variant in config["ProductionVariants"]
    ]


def counts(config: Record) -> dict[str, int]:
    """Return the instances by variant that a configuration begins with."""
    return {it["VariantName"]: it["InitialInstanceCount"] for it in config["ProductionVariants"]}


def kept(old: list[Record], config: Record, request: Record) -> list[Record]:
    """The configuration's variants, with the counts and weights that an update shall retain."""
    variants = described(config)
    if not request.get("RetainAllVariantProperties"):
        return variants
    excluded = {
        it["VariantPropertyType"] for it in request.get("ExcludeRetainedVariantProperties", [])
    }
    before = {it["VariantName"]: it for it in old}
    for variant in variants:
        for api, name in DESIRED.items():
            if api not in excluded and variant["VariantName"] in before:
                for when in ("Current", "Desired"):
                    variant[f"{when}{name}"] = before[variant["VariantName"]][f"{when}{name}"]
    return variants


def changed(old: Record, new: Record) -> list[str]:
    """Return the variants that a new configuration has not, or on other instances."""
    instances = {it["VariantName"]: it["InstanceType"] for it in new["ProductionVariants"]}
    return [
        it["VariantName"]
        for it in old["ProductionVariants"]
        if instances.get(it["VariantName"]) != it["InstanceType"]
    ]
