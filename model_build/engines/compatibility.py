"""Hardware compatibility: the GPUs that a builder's GPU can compile engines for."""

from typing import Literal

from packaging.version import Version

from model_build.errors import BuildError
from platform_facts import AMPERE, ComputeCapability, Release, oldest_release, releases

SINCE = Version("8.6")
"""The first TensorRT with hardware compatibility (TensorRT, samples/common/sampleOptions.cpp)."""

Level = Literal["none", "ampere-plus"]
"""TensorRT's HardwareCompatibilityLevel: `none` is for the builder's own kind of GPU."""


def compatibility_level(
    *, builder: ComputeCapability, served: ComputeCapability, release: Release
) -> Level:
    """Return the level at which `builder` compiles engines for `release` that run on `served`.

    Raises `BuildError` where there is none. Source: TensorRT documentation, hardware compatibility:
    AMPERE_PLUS engines run on every GPU of compute capability 8.0 and newer, on none older, and
    must be compiled on one; they may be slower than engines of the GPU's own.
    """
    if served == builder:
        return "none"
    if not (served >= AMPERE and builder >= AMPERE):
        raise BuildError(
            f"an engine for compute capability {served} cannot be compiled on a builder with "
            f"{builder}: TensorRT compiles across kinds of GPUs from 8.0 up only. Choose an "
            f"instance type with a GPU of {AMPERE} or newer (ml.g5 has 8.6), or serve the model as "
            "ONNX or TorchScript, which need no engine"
        )
    if _lacks_levels(release):
        first = oldest_release(lambda release: not _lacks_levels(release))
        assert first is not None
        raise BuildError(
            f"an engine for compute capability {served} cannot be compiled on a builder with "
            f"{builder} for Triton {release.name}: TensorRT compiles across kinds of GPUs since "
            f"{SINCE}. Choose Triton {first.name} or newer, or an instance type with a GPU of "
            f"{builder}, or serve the model as ONNX or TorchScript, which need no engine"
        )
    return "ampere-plus"


def _lacks_levels(release: Release) -> bool:
    """Whether a release's TensorRT is older; where none is listed it is no newer than the next's.

    That 23.05, after the last that is older, has 8.6.1 is in public files that are built upon
    nvcr.io/nvidia/tensorrt:23.05-py3 (jolibrain/deepdetect).
    """
    older = (
        release.name
        for release in releases()
        if release.tensorrt and Version(release.tensorrt) < SINCE
    )
    return release.name <= max(older)
