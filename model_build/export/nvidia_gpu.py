"""The GPU of this machine, found without a library that crashes where there is none."""

import ctypes
from dataclasses import dataclass

from model_build.errors import BuildError
from platform_facts import ComputeCapability

_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR of cuda.h
_NAME_BYTES = 100


@dataclass(frozen=True)
class NvidiaGpu:
    """A GPU, as its driver names it (`NVIDIA A10G`)."""

    name: str
    compute_capability: ComputeCapability


def require_gpu() -> NvidiaGpu:
    """Return the first GPU. Raises `BuildError` where there is no driver or no GPU.

    The driver is asked directly: TensorRT ends the process with a segmentation fault where it finds
    none.
    """
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise BuildError(
            "compiling a TensorRT engine needs an NVIDIA GPU, and this machine has no NVIDIA "
            "driver (libcuda.so.1): build in CodeBuild by deploying, or choose a cpu target, which "
            "is served the same model as ONNX"
        ) from None
    _call(driver, "cuInit", 0)
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    name = ctypes.create_string_buffer(_NAME_BYTES)
    _call(driver, "cuDeviceGet", ctypes.byref(device), 0)
    _call(driver, "cuDeviceGetName", name, _NAME_BYTES, device)
    _call(driver, "cuDeviceGetAttribute", ctypes.byref(major), _MAJOR, device)
    _call(driver, "cuDeviceGetAttribute", ctypes.byref(minor), _MINOR, device)
    return NvidiaGpu(name.value.decode(), ComputeCapability(major.value, minor.value))


def _call(driver: ctypes.CDLL, function: str, *arguments: object) -> None:
    if code := getattr(driver, function)(*arguments):
        raise BuildError(
            f"the NVIDIA driver finds no GPU that can be used ({function} gave CUDA error {code}): "
            "see nvidia-smi"
        )
