from dataclasses import dataclass
from functools import cache
from typing import Any

from platform_facts._gpus import Gpu, gpu
from platform_facts._support import Support
from platform_facts._tables import find, read_table

GIB_PER_VCPU = {"c": 2, "m": 4, "r": 8}
"""Memory of CPU families by first letter. General knowledge of EC2, without a source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceType:
    """A SageMaker hosting instance type. Source: instances.toml.

    CPU types have no `gpu` and `gpu_count` 0. `multi_model` is the support for multi-model
    endpoints. With `local_nvme`, SageMaker rejects VolumeSizeInGB.
    """

    name: str
    family: str
    gpu: Gpu | None
    gpu_count: int
    multi_model: Support
    local_nvme: bool

    @property
    def vcpus(self) -> int:
        """The number of vCPUs, from the size: an xlarge has 4, a large 2.

        General knowledge of EC2, without a source; valid for all rows of the table.
        """
        size = self.name.rpartition(".")[2].removesuffix("large")
        return 4 * int(size.removesuffix("x") or 1) if size else 2

    @property
    def model_memory_gib(self) -> int:
        """Memory for models in GiB: of one GPU, or of a CPU instance."""
        return self.gpu.memory_gib if self.gpu else self.vcpus * GIB_PER_VCPU[self.family[0]]


def instance_types() -> tuple[InstanceType, ...]:
    """Return every hosting instance type in the table: GPU families first, each by size."""
    return tuple(_by_name().values())


def instance_type(name: str) -> InstanceType:
    """Return the instance type called `name`, such as "ml.g5.xlarge". Raise `UnknownFact`."""
    return find("SageMaker hosting instance type", name, _by_name())


@cache
def _by_name() -> dict[str, InstanceType]:
    types = (
        _instance_type(family["name"], size["name"], family | size)
        for family in read_table("instances.toml")["family"]
        for size in family["sizes"]
    )
    return {instance_type.name: instance_type for instance_type in types}


def _instance_type(family: str, size: str, row: dict[str, Any]) -> InstanceType:
    return InstanceType(
        name=f"ml.{family}.{size}",
        family=family,
        gpu=gpu(row["gpu"]) if "gpu" in row else None,
        gpu_count=row.get("gpu_count", 0),
        multi_model=Support(row["multi_model"]),
        local_nvme=row["local_nvme"],
    )
