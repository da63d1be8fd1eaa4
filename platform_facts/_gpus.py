from dataclasses import dataclass
from functools import cache

from platform_facts._compute_capability import ComputeCapability
from platform_facts._tables import find, read_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A model of NVIDIA's data-centre GPUs. Source: instances.toml."""

    name: str
    compute_capability: ComputeCapability
    memory_gib: int


def gpus() -> tuple[Gpu, ...]:
    """Return the GPUs of all hosting instance types, oldest architecture first."""
    return tuple(_by_name().values())


def gpu(name: str) -> Gpu:
    """Return the GPU called `name`, such as "A10G". Raise `UnknownFact`."""
    return find("GPU", name, _by_name())


def codebuild_gpu() -> Gpu:
    """Return the GPU of the CodeBuild environment LINUX_GPU_CONTAINER, BUILD_GENERAL1_SMALL.

    BUILD_GENERAL1_LARGE has V100 GPUs, which TensorRT 10.5 does not support.
    Source: instances.toml.
    """
    return gpu("A10G")


@cache
def _by_name() -> dict[str, Gpu]:
    return {
        row["name"]: Gpu(
            name=row["name"],
            compute_capability=ComputeCapability.parse(row["compute_capability"]),
            memory_gib=row["memory_gib"],
        )
        for row in read_table("instances.toml")["gpu"]
    }
