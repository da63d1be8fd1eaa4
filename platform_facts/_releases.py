from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from platform_facts._backends import backends
from platform_facts._compute_capability import ComputeCapability
from platform_facts._tables import find, read_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A release of the SageMaker Triton image. Source: releases.toml.

    - `name` is the release in the image tag ("25.09").
    - `cuda`, `tensorrt`, `python`, `torch`, `dali`, `treelite`, `tensorflow` and `onnxruntime` are
      versions in the image, in PEP 440 format.
    - `onnx_opset` and `onnx_ir` are the highest versions that its ONNX Runtime accepts.
    - `builder_tag` is the tag of nvcr.io/nvidia/tensorrt that builds engines for this release.
    - None, or empty `inference_amis`, means unknown or not in the image;
      `maximum_compute_capability` None means no limit.
    """

    name: str
    builder_tag: str
    python: str
    backends: tuple[str, ...]
    cuda: str | None = None
    tensorrt: str | None = None
    torch: str | None = None
    dali: str | None = None
    treelite: str | None = None
    tensorflow: str | None = None
    onnxruntime: str | None = None
    onnx_opset: int | None = None
    onnx_ir: int | None = None
    maximum_compute_capability: ComputeCapability | None = None
    inference_amis: tuple[str, ...] = ()

    @property
    def preferred_inference_ami(self) -> str | None:
        """The InferenceAmiVersion for GPU instances; None: use the default of the instance type."""
        return self.inference_amis[0] if self.inference_amis else None

    def required_compute_capability(self, actual: ComputeCapability) -> str | None:
        """Return the supported range ("9.0 or less") if `actual` is not in it, else None."""
        maximum = self.maximum_compute_capability
        return f"{maximum} or less" if maximum is not None and actual > maximum else None


def releases() -> tuple[Release, ...]:
    """Return every release with a SageMaker image, newest first."""
    return tuple(_by_name().values())


def release(name: str) -> Release:
    """Return the release called `name`, such as "25.09". Raise `UnknownFact`."""
    return find("SageMaker Triton release", name, _by_name())


def oldest_release(condition: Callable[[Release], bool]) -> Release | None:
    """Return the oldest release for which `condition` is true; None if there is none."""
    return next(filter(condition, reversed(releases())), None)


def serve_option_since(option: str) -> str | None:
    """Return the first release whose `serve` supports an option; None: all releases do.

    `option` is a name in `triton_sagemaker.ServerOptions`. Source: releases.toml.
    """
    rows = read_table("releases.toml")["serve_option"]
    return {row["name"]: row["since"] for row in rows}.get(option)


@cache
def _by_name() -> dict[str, Release]:
    rows = sorted(read_table("releases.toml")["release"], key=lambda row: str(row["name"]))
    return {row["name"]: _release(row) for row in reversed(rows)}


def _release(row: dict[str, Any]) -> Release:
    values = {key: value for key, value in row.items() if key not in ("source", "unsourced")}
    if maximum := values.get("maximum_compute_capability"):
        values["maximum_compute_capability"] = ComputeCapability.parse(maximum)
    values["inference_amis"] = tuple(values.get("inference_amis", ()))
    names = tuple(backend.name for backend in backends() if backend.is_in(row["name"]))
    return Release(**values, backends=names)
