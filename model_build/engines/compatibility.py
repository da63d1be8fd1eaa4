"""The GPUs and releases for which engines can be compiled."""

from typing import Literal

from packaging.version import Version

from model_build.errors import BuildError
from model_build.target import newer_release_hint
from platform_facts import AMPERE, ComputeCapability, Release

FIRST_TENSORRT = Version("10")
"""The first TensorRT with strongly typed networks and BF16: tests/gpu_stand_in records that the
bindings of 8.6 have neither, and those of 10 both."""

Level = Literal["none", "ampere-plus"]
"""TensorRT's HardwareCompatibilityLevel: with `none`, engines run on the builder's kind of GPU."""


def compatibility_level(
    *, builder_gpu: ComputeCapability, target_gpu: ComputeCapability, release: Release
) -> Level:
    """Return the level with which `builder_gpu` compiles engines of `release` for `target_gpu`.

    Raise `BuildError` if there is none. Source: TensorRT documentation, hardware compatibility:
    AMPERE_PLUS engines are compiled on and run on GPUs of compute capability 8.0 and newer; they
    may be slower than engines for one kind of GPU.
    """
    if not _can_compile(release):
        raise BuildError(
            f"an engine cannot be compiled for Triton {release.name}, whose TensorRT is "
            f"{release.tensorrt or 'not known'}: serve the model as ONNX or TorchScript, which "
            f"need no engine{newer_release_hint(_can_compile)}"
        )
    if target_gpu == builder_gpu:
        return "none"
    if not (target_gpu >= AMPERE and builder_gpu >= AMPERE):
        raise BuildError(
            f"an engine for compute capability {target_gpu} cannot be compiled on a builder with "
            f"{builder_gpu}: TensorRT compiles across kinds of GPUs from 8.0 up only. Choose an "
            f"instance type with a GPU of {AMPERE} or newer (ml.g5 has 8.6), or serve the model as "
            "ONNX or TorchScript, which need no engine"
        )
    return "ampere-plus"


def _can_compile(release: Release) -> bool:
    return release.tensorrt is not None and Version(release.tensorrt) >= FIRST_TENSORRT
