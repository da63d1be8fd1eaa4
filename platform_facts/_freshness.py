"""Say which facts are no longer those of AWS's API: `python -m platform_facts._freshness`.

Compares the tables with the service model of the installed botocore: upgrade it first. Ends with 0,
or with 1 where a line is printed.
"""

import sys
from datetime import UTC, date, datetime
from typing import Any

import boto3

from platform_facts._inference_amis import inference_amis
from platform_facts._instances import instance_types
from platform_facts._prices import prices
from platform_facts._tables import read_table

TABLE = "instances.toml"
MOST_DAYS = 180
"""Prices older than this are named."""


def main() -> int:
    """Print a line for everything that is not current; return the exit code."""
    model: Any = boto3.client("sagemaker", region_name="us-east-1").meta.service_model
    found = [
        *unknown_families(model.shape_for("ProductionVariantInstanceType").enum),
        *unknown_amis(model.shape_for("ProductionVariantInferenceAmiVersion").enum),
        *old_prices(datetime.now(UTC).date()),
    ]
    for line in found:
        print(f"- {line}")
    return 1 if found else 0


def unknown_families(offered: list[str]) -> list[str]:
    """Return a line for each family of GPU instances that SageMaker offers and no table has."""
    unread: list[str] = read_table(TABLE)["unread_families"]
    known = {it.family for it in instance_types()}
    gpu = {_family(it) for it in offered if _family(it).startswith(("g", "p"))}
    return [
        f"{TABLE}: SageMaker offers ml.{it}: add the family with its GPU and the source, or name "
        "it in unread_families"
        for it in sorted(gpu - known - set(unread))
    ]


def unknown_amis(offered: list[str]) -> list[str]:
    """Return a line for each InferenceAmiVersion with a GPU driver that no table has."""
    known = {it.name for it in inference_amis()}
    return [
        f"inference_amis.toml: SageMaker offers {it}: add it with its driver and the source"
        for it in sorted(set(offered) - known)
        if "neuron" not in it
    ]


def old_prices(today: date) -> list[str]:
    """Return a line where the prices are old."""
    age = (today - prices().date).days
    return [f"prices.toml is {age} days old: make prices"] if age > MOST_DAYS else []


def _family(instance_type: str) -> str:
    return instance_type.split(".")[1]


if __name__ == "__main__":
    sys.exit(main())
