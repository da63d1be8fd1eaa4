from dataclasses import dataclass
from functools import cache
from typing import Any

from platform_facts._gpus import Gpu, gpu
from platform_facts._support import Support
from platform_facts._tables import find, read_table, unsourced_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceType:
    """One SageMaker hosting instance type. Source: instances.toml, and `source` of the row.

    `gpu` is None and `gpu_count` 0 on a CPU type. `gpu_memory_gb` is GB for each GPU, as the vendor
    advertises it. `multi_model` is whether multi-model endpoints can be hosted on it.
    `default_driver` ("470") and `default_cuda` ("11.4") are what the host has when the variant
    names no InferenceAmiVersion; None on a CPU type, and where unknown. With `local_nvme` SageMaker
    refuses VolumeSizeInGB. `unsourced` names the fields that are unknown or rest on no source.
    """

    name: str
    family: str
    gpu: Gpu | None
    gpu_count: int
    gpu_memory_gb: int | None
    multi_model: Support
    default_driver: str | None
    default_cuda: str | None
    local_nvme: bool
    source: str
    unsourced: tuple[str, ...]


def instance_types() -> tuple[InstanceType, ...]:
    """Return every hosting instance type in the table: GPU families first, each by size."""
    return tuple(_by_name().values())


def instance_type(name: str) -> InstanceType:
    """Return the instance type called `name`, such as "ml.g5.xlarge". Raises UnknownFact."""
    return find("SageMaker hosting instance type", name, _by_name())


@cache
def _by_name() -> dict[str, InstanceType]:
    found = (
        _instance_type(family, size)
        for family in read_table("instances.toml")["family"]
        for size in family["sizes"]
    )
    return {instance.name: instance for instance in found}


def _instance_type(family: dict[str, Any], size: dict[str, Any]) -> InstanceType:
    row = family | size | {"unsourced": family.get("unsourced", []) + size.get("unsourced", [])}
    has_gpu = "gpu" in row
    return InstanceType(
        name=f"ml.{family['name']}.{size['name']}",
        family=family["name"],
        gpu=gpu(row["gpu"]) if has_gpu else None,
        gpu_count=row["gpu_count"] if has_gpu else 0,
        gpu_memory_gb=row["gpu_memory_gb"] if has_gpu else None,
        multi_model=Support(row["multi_model"]),
        default_driver=row.get("default_driver"),
        default_cuda=row.get("default_cuda"),
        local_nvme=row["local_nvme"],
        source=row["source"],
        unsourced=unsourced_fields(
            row, may_be_unknown=("default_driver", "default_cuda") if has_gpu else ()
        ),
    )
