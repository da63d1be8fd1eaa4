from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from platform_facts._backends import backends
from platform_facts._compute_capability import ComputeCapability
from platform_facts._tables import find, read_table

_MAY_BE_UNKNOWN = (
    "cuda",
    "tensorrt",
    "python",
    "torch",
    "dali",
    "treelite",
    "tensorflow",
    "onnxruntime",
    "onnx_opset",
    "onnx_ir",
    "minimum_compute_capability",
    "inference_amis",
)


class AccountSet(StrEnum):
    """The set of AWS accounts with a release's images."""

    BEFORE_23_12 = "before-23.12"
    SINCE_23_12 = "since-23.12"


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A release of the SageMaker Triton image. Source: releases.toml, and `source` of the row.

    - `name` is the release in the image tag ("25.09").
    - `cuda`, `tensorrt`, `python`, `torch`, `dali`, `treelite`, `tensorflow` and `onnxruntime` are
      versions in the image, in PEP 440 format.
    - `onnx_opset` and `onnx_ir` are the highest versions that its ONNX Runtime accepts.
    - `builder_tag` is the tag of nvcr.io/nvidia/tensorrt that builds engines for this release.
    - None, or empty `inference_amis`, means unknown or not in the image; `unsourced` lists these
      fields, and fields without a source.
    """

    name: str
    cuda: str | None
    tensorrt: str | None
    python: str | None
    torch: str | None
    dali: str | None
    treelite: str | None
    tensorflow: str | None
    onnxruntime: str | None
    onnx_opset: int | None
    onnx_ir: int | None
    minimum_compute_capability: ComputeCapability | None
    maximum_compute_capability: ComputeCapability | None
    backends: tuple[str, ...]
    account_set: AccountSet
    inference_amis: tuple[str, ...]
    builder_tag: str
    source: str
    unsourced: tuple[str, ...]

    @property
    def preferred_inference_ami(self) -> str | None:
        """The InferenceAmiVersion for GPU instances; None: use the default of the instance type."""
        return self.inference_amis[0] if self.inference_amis else None

    def runs_on(self, compute_capability: ComputeCapability) -> bool | None:
        """Return whether the release runs on a GPU of this compute capability; None: unknown."""
        if self.wants_gpu(compute_capability):
            return False
        return None if self.minimum_compute_capability is None else True

    def wants_gpu(self, compute_capability: ComputeCapability) -> str | None:
        """Return the required compute capability ("8.0 or more"); None if this one is supported."""
        least, most = self.minimum_compute_capability, self.maximum_compute_capability
        if least is not None and compute_capability < least:
            return f"{least} or more"
        if most is not None and compute_capability > most:
            return f"{most} or less"
        return None


def releases() -> tuple[Release, ...]:
    """Return every release that SageMaker has an image of, newest first."""
    return tuple(_by_name().values())


def release(name: str) -> Release:
    """Return the release called `name`, such as "25.09". Raises UnknownFact."""
    return find("SageMaker Triton release", name, _by_name())


def oldest_release(condition: Callable[[Release], bool]) -> Release | None:
    """Return the oldest release for which `condition` is true; None if there is none."""
    return next(filter(condition, reversed(releases())), None)


@cache
def _by_name() -> dict[str, Release]:
    rows = read_table("releases.toml")["release"]
    result = sorted(map(_release, rows), key=lambda release: release.name, reverse=True)
    return {release.name: release for release in result}


def _release(row: dict[str, Any]) -> Release:
    minimum, maximum = row.get("minimum_compute_capability"), row.get("maximum_compute_capability")
    return Release(
        name=row["name"],
        cuda=row.get("cuda"),
        tensorrt=row.get("tensorrt"),
        python=row.get("python"),
        torch=row.get("torch"),
        dali=row.get("dali"),
        treelite=row.get("treelite"),
        tensorflow=row.get("tensorflow"),
        onnxruntime=row.get("onnxruntime"),
        onnx_opset=row.get("onnx_opset"),
        onnx_ir=row.get("onnx_ir"),
        minimum_compute_capability=ComputeCapability.parse(minimum) if minimum else None,
        maximum_compute_capability=ComputeCapability.parse(maximum) if maximum else None,
        backends=tuple(backend.name for backend in backends() if backend.is_in(row["name"])),
        account_set=AccountSet(row["account_set"]),
        inference_amis=tuple(row.get("inference_amis", ())),
        builder_tag=row["builder_tag"],
        source=row["source"],
        unsourced=(
            *row.get("unsourced", ()),
            *(field for field in _MAY_BE_UNKNOWN if field not in row),
        ),
    )
