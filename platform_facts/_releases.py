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
    """The set of AWS accounts that holds a release's images."""

    BEFORE_23_12 = "before-23.12"
    SINCE_23_12 = "since-23.12"


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A release of the SageMaker Triton image. Source: releases.toml, and `source` of the row.

    `name` is the release as its tag says it ("25.09"); `cuda`, `tensorrt`, `python`, `torch`,
    `dali`, `treelite`, `tensorflow` and `onnxruntime` are the versions inside, as PEP 440 writes
    them; `onnx_opset` and `onnx_ir` are the highest that the last accepts. `builder_tag` is the tag
    of NVIDIA's container nvcr.io/nvidia/tensorrt that builds plans which this release can load.
    None, or no `inference_amis`, means unknown or not there.
    `unsourced` names those fields, and the ones that rest on no source.
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
        """The InferenceAmiVersion to ask for on a GPU; None: leave the instance's default."""
        return self.inference_amis[0] if self.inference_amis else None

    def runs_on(self, compute_capability: ComputeCapability) -> bool | None:
        """Whether the release runs on a GPU of that compute capability; None: unknown."""
        if self.wants_gpu(compute_capability):
            return False
        return None if self.minimum_compute_capability is None else True

    def wants_gpu(self, compute_capability: ComputeCapability) -> str | None:
        """Return which compute capability it needs instead of one that it does not run on."""
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


def oldest_release(that: Callable[[Release], bool]) -> Release | None:
    """Return the oldest release for which `that` holds, None where it holds for none."""
    return next(filter(that, reversed(releases())), None)


@cache
def _by_name() -> dict[str, Release]:
    rows = read_table("releases.toml")["release"]
    result = sorted(map(_release, rows), key=lambda release: release.name, reverse=True)
    return {release.name: release for release in result}


def _release(row: dict[str, Any]) -> Release:
    floor, ceiling = (row.get(f"{each}_compute_capability") for each in ("minimum", "maximum"))
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
        minimum_compute_capability=ComputeCapability.parse(floor) if floor else None,
        maximum_compute_capability=ComputeCapability.parse(ceiling) if ceiling else None,
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
