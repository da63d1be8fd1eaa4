from dataclasses import dataclass
from datetime import date

from platform_facts._tables import read_table


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBuildGpuSeen:
    """What one build on CodeBuild's GPU reported. Source: seen.toml, and `source` of the row.

    `cuda` is the newest that the driver carries; `tensorrt` that of the image it ran in.
    """

    region: str
    date: date
    gpu: str
    driver: str
    cuda: str
    tensorrt: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostingSeen:
    """The instance types for whose endpoints SageMaker had a quota. Source: seen.toml.

    `default_quotas` is instance type -> AWS's default, in instances.
    """

    region: str
    date: date
    default_quotas: dict[str, int]
    source: str


def codebuild_gpu_seen(region: str) -> CodeBuildGpuSeen | None:
    """Return what was seen in a region, None where nobody has recorded it."""
    rows = read_table("seen.toml").get("codebuild_gpu", ())
    return next((CodeBuildGpuSeen(**it) for it in rows if it["region"] == region), None)


def hosting_seen(region: str) -> HostingSeen | None:
    """Return what was seen in a region, None where nobody has recorded it."""
    rows = read_table("seen.toml").get("hosting", ())
    return next((HostingSeen(**it) for it in rows if it["region"] == region), None)
