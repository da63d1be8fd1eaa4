from dataclasses import dataclass
from functools import cache
from typing import Any

from platform_facts._tables import find, read_table, unsourced_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceAmi:
    """One value of InferenceAmiVersion with a GPU driver. Source: inference_amis.toml.

    `driver` is NVIDIA's driver branch ("580"), `cuda` the CUDA that it carries ("13.0").
    `families` are the instance families that it is known to run on; None: unknown. A family that
    is not among them is undocumented, not ruled out.
    """

    name: str
    driver: str
    cuda: str
    cuda_compat_mounted: bool
    families: tuple[str, ...] | None
    source: str
    unsourced: tuple[str, ...]


def inference_amis() -> tuple[InferenceAmi, ...]:
    """Return every inference AMI with a GPU driver, oldest driver first."""
    return tuple(_by_name().values())


def inference_ami(name: str) -> InferenceAmi:
    """Return the AMI of that InferenceAmiVersion. Raises UnknownFact."""
    return find("InferenceAmiVersion with a GPU driver", name, _by_name())


@cache
def _by_name() -> dict[str, InferenceAmi]:
    rows = read_table("inference_amis.toml")["inference_ami"]
    return {row["name"]: _inference_ami(row) for row in rows}


def _inference_ami(row: dict[str, Any]) -> InferenceAmi:
    families = row.get("families")
    return InferenceAmi(
        name=row["name"],
        driver=row["driver"],
        cuda=row["cuda"],
        cuda_compat_mounted=row["cuda_compat_mounted"],
        families=None if families is None else tuple(families),
        source=row["source"],
        unsourced=unsourced_fields(row, may_be_unknown=("families",)),
    )
