"""Production variants of an endpoint, as in DescribeEndpoint."""

from collections.abc import Mapping
from typing import Any

Record = dict[str, Any]

PROPERTIES = ("InstanceCount", "Weight")
"""Variant properties; DescribeEndpoint has each of them as Current and as Desired."""


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


def with_retained_properties(old: list[Record], config: Record, request: Record) -> list[Record]:
    """Return a configuration's variants with the counts and weights that an update retains."""
    variants = described(config)
    if not request.get("RetainAllVariantProperties"):
        return variants
    excluded = [
        item["VariantPropertyType"] for item in request.get("ExcludeRetainedVariantProperties", [])
    ]
    members = [
        f"{when}{name}"
        for name in PROPERTIES
        if f"Desired{name}" not in excluded
        for when in ("Current", "Desired")
    ]
    before = {variant["VariantName"]: variant for variant in old}
    return [
        {**variant, **{member: before[name][member] for member in members if name in before}}
        for variant in variants
        for name in [variant["VariantName"]]
    ]


def counts(variants: list[Record], *, when: str = "Desired") -> dict[str, int]:
    """Return the instance counts by variant, desired or current."""
    return {variant["VariantName"]: variant[f"{when}InstanceCount"] for variant in variants}


def with_desired(variants: list[Record], requested: list[Record]) -> list[Record]:
    """Return the variants with the changes of UpdateEndpointWeightsAndCapacities."""
    changes = {change["VariantName"]: change for change in requested}
    return [{**variant, **changes.get(variant["VariantName"], {})} for variant in variants]


def with_current_as_desired(variants: list[Record]) -> list[Record]:
    """Return the variants with the current values as desired values."""
    return [
        {**variant, **{f"Desired{name}": variant[f"Current{name}"] for name in PROPERTIES}}
        for variant in variants
    ]


def with_current_counts(variants: list[Record], now: Mapping[str, int]) -> list[Record]:
    """Return the variants with other current instance counts."""
    return [
        {**variant, "CurrentInstanceCount": now[variant["VariantName"]]} for variant in variants
    ]


def with_desired_as_current(variants: list[Record]) -> list[Record]:
    """Return the variants with the desired values as current values."""
    return [
        {**variant, **{f"Current{name}": variant[f"Desired{name}"] for name in PROPERTIES}}
        for variant in variants
    ]
