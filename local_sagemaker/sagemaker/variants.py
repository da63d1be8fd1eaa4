"""Production variants of an endpoint, as in the response of DescribeEndpoint."""

from collections.abc import Mapping
from typing import Any

Record = dict[str, Any]

PROPERTIES = ("InstanceCount", "Weight")
"""Variant properties; DescribeEndpoint has a Current and a Desired member for each."""


def from_config(config: Record) -> list[Record]:
    """Return the variants of a configuration with their initial counts and weights."""
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
    """Return the variants of an update's configuration.

    Counts and weights of the `old` variants are retained as the request specifies.
    """
    variants = from_config(config)
    if not request.get("RetainAllVariantProperties"):
        return variants
    excluded = [
        item["VariantPropertyType"] for item in request.get("ExcludeRetainedVariantProperties", [])
    ]
    members = [
        f"{prefix}{name}"
        for name in PROPERTIES
        if f"Desired{name}" not in excluded
        for prefix in ("Current", "Desired")
    ]
    old_by_name = {variant["VariantName"]: variant for variant in old}
    return [
        {
            **variant,
            **{member: old_by_name[name][member] for member in members if name in old_by_name},
        }
        for variant in variants
        for name in [variant["VariantName"]]
    ]


def desired_counts(variants: list[Record]) -> dict[str, int]:
    """Return the desired instance counts by variant."""
    return {variant["VariantName"]: variant["DesiredInstanceCount"] for variant in variants}


def current_counts(variants: list[Record]) -> dict[str, int]:
    """Return the current instance counts by variant."""
    return {variant["VariantName"]: variant["CurrentInstanceCount"] for variant in variants}


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


def with_current_counts(variants: list[Record], counts: Mapping[str, int]) -> list[Record]:
    """Return the variants with these current instance counts, by variant."""
    return [
        {**variant, "CurrentInstanceCount": counts[variant["VariantName"]]} for variant in variants
    ]


def with_desired_as_current(variants: list[Record]) -> list[Record]:
    """Return the variants with the desired values as current values."""
    return [
        {**variant, **{f"Current{name}": variant[f"Desired{name}"] for name in PROPERTIES}}
        for variant in variants
    ]
