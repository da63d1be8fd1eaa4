from dataclasses import dataclass
from functools import cache
from typing import Any

from platform_facts._gpus import Gpu, gpu
from platform_facts._support import Support
from platform_facts._tables import find, read_table

GIB_PER_VCPU = {"c": 2, "m": 4, "r": 8}
"""Memory of CPU families, by their first letter: general knowledge of EC2, no source was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceType:
    """A SageMaker hosting instance type. Source: instances.toml, and `source` of the row.

    `gpu` is None and `gpu_count` 0 on a CPU type. `multi_model` is whether multi-model endpoints
    can be hosted on it. With `local_nvme` SageMaker refuses VolumeSizeInGB. `unsourced` names the
    fields that rest on no source.
    """

    name: str
    family: str
    gpu: Gpu | None
    gpu_count: int
    multi_model: Support
    local_nvme: bool
    source: str
    unsourced: tuple[str, ...]

    @property
    def vcpus(self) -> int:
        """The number of vCPUs, by its size: EC2 gives 4 to an xlarge and 2 to a large.

        General knowledge of EC2, which holds for each row of the table; no source was read.
        """
        size = self.name.rpartition(".")[2].removesuffix("large")
        return 4 * int(size.removesuffix("x") or 1) if size else 2

    @property
    def model_memory_gib(self) -> int:
        """Memory that models share: the GPU's, or the instance's."""
        return self.gpu.memory_gib if self.gpu else self.vcpus * GIB_PER_VCPU[self.family[0]]


def instance_types() -> tuple[InstanceType, ...]:
    """Return every hosting instance type in the table: GPU families first, each by size."""
    return tuple(_by_name().values())


def instance_type(name: str) -> InstanceType:
    """Return the instance type called `name`, such as "ml.g5.xlarge". Raises UnknownFact."""
    return find("SageMaker hosting instance type", name, _by_name())


def unread_families() -> tuple[str, ...]:
    """Return the families that SageMaker has, and of whose GPUs no source was read."""
    return tuple(read_table("instances.toml")["unread_families"])


@cache
def _by_name() -> dict[str, InstanceType]:
    result = (
        _instance_type(family, size)
        for family in read_table("instances.toml")["family"]
        for size in family["sizes"]
    )
    return {instance.name: instance for instance in result}


def _instance_type(family: dict[str, Any], size: dict[str, Any]) -> InstanceType:
    row = family | size
    return InstanceType(
        name=f"ml.{family['name']}.{size['name']}",
        family=family["name"],
        gpu=gpu(row["gpu"]) if "gpu" in row else None,
        gpu_count=row.get("gpu_count", 0),
        multi_model=Support(row["multi_model"]),
        local_nvme=row["local_nvme"],
        source=row["source"],
        unsourced=(*family.get("unsourced", ()), *size.get("unsourced", ())),
    )
