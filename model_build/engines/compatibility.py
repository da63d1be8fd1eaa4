"""Hardware compatibility between the GPU that compiles an engine and the GPU that serves it."""

from typing import Literal

from packaging.version import Version

from model_build.errors import BuildError
from platform_facts import AMPERE, ComputeCapability, Release, oldest_release, releases

FIRST_WITH_LEVELS = Version("8.6")
"""The first TensorRT with compatibility levels (TensorRT, samples/common/sampleOptions.cpp)."""

Level = Literal["none", "ampere-plus"]
"""TensorRT's HardwareCompatibilityLevel: with `none`, engines run on the builder's kind of GPU."""


def compatibility_level(
    *, builder_gpu: ComputeCapability, target_gpu: ComputeCapability, release: Release
) -> Level:
    """Return the level with which `builder_gpu` compiles engines of `release` for `target_gpu`.

    Raises `BuildError` if there is none. Source: TensorRT documentation, hardware compatibility:
    AMPERE_PLUS engines are compiled on and run on GPUs of compute capability 8.0 and newer; they
    may be slower than engines for one kind of GPU.
    """
    if target_gpu == builder_gpu:
        return "none"
    if not (target_gpu >= AMPERE and builder_gpu >= AMPERE):
        raise BuildError(
            f"an engine for compute capability {target_gpu} cannot be compiled on a builder with "
            f"{builder_gpu}: TensorRT compiles across kinds of GPUs from 8.0 up only. Choose an "
            f"instance type with a GPU of {AMPERE} or newer (ml.g5 has 8.6), or serve the model as "
            "ONNX or TorchScript, which need no engine"
        )
    if _lacks_levels(release):
        first = oldest_release(lambda release: not _lacks_levels(release))
        assert first is not None
        raise BuildError(
            f"an engine for compute capability {target_gpu} cannot be compiled on a builder with "
            f"{builder_gpu} for Triton {release.name}: TensorRT compiles across kinds of GPUs "
            f"since {FIRST_WITH_LEVELS}. Choose Triton {first.name} or newer, or an instance type "
            f"with a GPU of {builder_gpu}, or serve the model as ONNX or TorchScript, which need "
            "no engine"
        )
    return "ampere-plus"


def _lacks_levels(release: Release) -> bool:
    """Return whether a release's TensorRT has no compatibility levels.

    Some releases have no known TensorRT version: they count as no newer than the next release. The
    first with levels is 23.05: it has 8.6.1 according to images that are built on
    nvcr.io/nvidia/tensorrt:23.05-py3 (jolibrain/deepdetect).
    """
    older = (
        release.name
        for release in releases()
        if release.tensorrt and Version(release.tensorrt) < FIRST_WITH_LEVELS
    )
    return release.name <= max(older)
