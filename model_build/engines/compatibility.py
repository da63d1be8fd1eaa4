"""Which GPUs an engine can be compiled for on the GPU of a builder."""

from typing import Literal

from model_build.errors import BuildError
from platform_facts import ComputeCapability

AMPERE = ComputeCapability(8, 0)

Level = Literal["none", "ampere-plus"]
"""TensorRT's HardwareCompatibilityLevel: `none` is for the builder's own kind of GPU."""


def compatibility_level(*, builder: ComputeCapability, served: ComputeCapability) -> Level:
    """Return the level at which `builder` compiles engines that run on `served`.

    Raises `BuildError` where there is none. Source: TensorRT documentation, hardware compatibility:
    AMPERE_PLUS engines run on every GPU of compute capability 8.0 and newer, on none older, and
    must be compiled on one; they may be slower than engines of the GPU's own.
    """
    if served == builder:
        return "none"
    if served >= AMPERE and builder >= AMPERE:
        return "ampere-plus"
    raise BuildError(
        f"an engine for compute capability {served} cannot be compiled on a builder with "
        f"{builder}: TensorRT compiles across kinds of GPUs from 8.0 up only. Choose an instance "
        f"type with a GPU of {AMPERE} or newer (ml.g5 has 8.6), or serve the model as ONNX or "
        "TorchScript, which need no engine"
    )
