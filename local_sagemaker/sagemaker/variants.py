"""An endpoint's production variants, as DescribeEndpoint has them."""

from collections.abc import Mapping
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


def counts(variants: list[Record], *, when: str = "Desired") -> dict[str, int]:
    """Return the instances by variant, desired or current."""
    return {it["VariantName"]: it[f"{when}InstanceCount"] for it in variants}


def desired(variants: list[Record], wanted: list[Record]) -> list[Record]:
    """Return the variants as UpdateEndpointWeightsAndCapacities asks for them."""
    changes = {it["VariantName"]: it for it in wanted}
    return [
        {
            **variant,
            **{
                f"Desired{name}": changes[variant["VariantName"]][api]
                for api, name in DESIRED.items()
                if api in changes.get(variant["VariantName"], {})
            },
        }
        for variant in variants
    ]


def undesired(variants: list[Record]) -> list[Record]:
    """Return the variants with nothing desired but what is."""
    return [
        {**it, **{f"Desired{name}": it[f"Current{name}"] for name in DESIRED.values()}}
        for it in variants
    ]


def weights(variants: list[Record]) -> dict[str, float]:
    """Return the weights that are in force, by variant."""
    return {it["VariantName"]: it["CurrentWeight"] for it in variants}


def counted(variants: list[Record], now: Mapping[str, int]) -> list[Record]:
    """Return the variants with the instances that they have now."""
    return [{**it, "CurrentInstanceCount": now[it["VariantName"]]} for it in variants]


def settled(variants: list[Record]) -> list[Record]:
    """Return the variants with all that was desired."""
    return [
        {**variant, **{f"Current{name}": variant[f"Desired{name}"] for name in DESIRED.values()}}
        for variant in variants
    ]
