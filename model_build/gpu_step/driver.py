"""The GPU, through NVIDIA's driver library, without a CUDA package that could conflict with it.

Functions, constants and error codes are those of CUDA's cuda.h (CUDA Driver API), with the names
that the library exports since CUDA 7.
"""

import ctypes
import os
import re
from pathlib import Path

from .errors import StepError

LIBRARY = "libcuda.so.1"
VERSION_FILE = Path("/proc/driver/nvidia/version")
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
_NAME_BYTES = 100
_NO_GPU = "finds no usable GPU (nvidia-smi lists GPUs)"
_FAILURES = {
    "cuInit": _NO_GPU,
    "cuDeviceGet": _NO_GPU,
    "cuMemAlloc_v2": "reports too little GPU memory: write smaller max shapes into the profiles",
    "cuCtxSynchronize": "could not run the engine",
}
"""Descriptions of failed calls, by function."""


class Driver:
    """The first GPU of this machine, with its primary context, which TensorRT uses too.

    `cuda` is the newest CUDA version that the driver supports (`13.0`), `version` the driver's
    version (`580.82.07`, empty if unknown), `gpu` the GPU's name.
    """

    def __init__(self) -> None:
        """Query the driver. Raise `StepError` if it is missing or has no usable GPU."""
        try:
            self._library = ctypes.CDLL(LIBRARY)
        except OSError:
            raise StepError(
                f"this machine has no NVIDIA driver ({LIBRARY}): an engine is compiled on a GPU"
            ) from None
        self.version = _driver_version()
        self.cuda = self._supported_cuda()
        _check_driver_age(self.cuda, self.version)
        self._call("cuInit", ctypes.c_uint(0))
        self._device = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(self._device), ctypes.c_int(0))
        self.gpu = self._name()
        self.compute_capability = f"{self._attribute(_MAJOR)}.{self._attribute(_MINOR)}"

    def activate(self) -> None:
        """Set the GPU's primary context as this thread's context."""
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device)
        self._call("cuCtxSetCurrent", context)

    def allocate(self, size: int) -> int:
        """Allocate `size` bytes of GPU memory, at least one, and return the address."""
        address = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        return address.value

    def free(self, address: int) -> None:
        """Free GPU memory."""
        self._call("cuMemFree_v2", ctypes.c_uint64(address))

    def write(self, address: int, content: bytes) -> None:
        """Copy `content` to the GPU."""
        size = ctypes.c_size_t(len(content))
        self._call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), ctypes.c_char_p(content), size)

    def read(self, address: int, size: int) -> bytes:
        """Copy `size` bytes from the GPU."""
        content = ctypes.create_string_buffer(size)
        self._call("cuMemcpyDtoH_v2", content, ctypes.c_uint64(address), ctypes.c_size_t(size))
        return content.raw

    def wait(self) -> None:
        """Wait until the GPU has completed all work."""
        self._call("cuCtxSynchronize")

    def _supported_cuda(self) -> str:
        supported = ctypes.c_int()
        self._call("cuDriverGetVersion", ctypes.byref(supported))
        return f"{supported.value // 1000}.{supported.value % 1000 // 10}"

    def _name(self) -> str:
        name = ctypes.create_string_buffer(_NAME_BYTES)
        self._call("cuDeviceGetName", name, ctypes.c_int(_NAME_BYTES), self._device)
        return name.value.decode()

    def _attribute(self, number: int) -> int:
        value = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(number), self._device)
        return value.value

    def _call(self, function: str, *arguments: object) -> None:
        code = getattr(self._library, function)(*arguments)
        if code:
            failure = _FAILURES.get(function, "failed")
            raise StepError(
                f"the NVIDIA driver {self.version or 'of this machine'} {failure}: {function} "
                f"returned CUDA error {code}{self._description(code)}"
            )

    def _description(self, code: int) -> str:
        text = ctypes.c_char_p()
        self._library.cuGetErrorString(ctypes.c_int(code), ctypes.byref(text))
        return f" ({text.value.decode()})" if text.value else ""


def image_cuda() -> str:
    """Return the CUDA version of NVIDIA's image, empty outside of these images."""
    return os.environ.get("CUDA_VERSION", "")


def _check_driver_age(cuda: str, version: str) -> None:
    """Raise `StepError` if the driver does not support the major CUDA version of the image.

    A driver supports newer minor versions of its major version (CUDA documentation, minor version
    compatibility). With the image's forward-compatibility library, `cuda` is that library's.
    """
    image = image_cuda()
    if image and int(cuda.split(".")[0]) < int(image.split(".")[0]):
        raise StepError(
            f"the NVIDIA driver {version or 'of this machine'} supports CUDA {cuda}, this image "
            f"has CUDA {image}: the machine's driver is too old for the image of this Triton "
            "release. Choose an older release in the stage, or a machine with a newer driver"
        )


def _driver_version() -> str:
    try:
        match = re.search(r"\b[0-9]{3}\.[0-9.]+\b", VERSION_FILE.read_text(encoding="utf-8"))
    except OSError:
        return ""
    return match.group() if match else ""
