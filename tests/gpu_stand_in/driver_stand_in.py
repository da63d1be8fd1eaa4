"""A libcuda with one simulated GPU that uses the memory of the process."""

import ctypes
from typing import Any

NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE


class DriverStandIn:
    """The functions of cuda.h that the GPU step calls.

    `cuda` is the result of cuDriverGetVersion, `gpu` the name of the GPU and `capability` its
    compute capability. The function named `fails` returns CUDA_ERROR_NO_DEVICE. `memory` maps
    addresses to allocated buffers.
    """

    def __init__(
        self,
        *,
        cuda: int = 13000,
        gpu: str = "stand-in for an NVIDIA A10G",
        capability: tuple[int, int] = (8, 6),
        fails: str = "",
    ) -> None:
        self._cuda, self._gpu, self._capability, self._fails = cuda, gpu, capability, fails
        self.memory: dict[int, Any] = {}

    def __getattribute__(self, name: str) -> Any:
        result = super().__getattribute__(name)
        return (lambda *_: NO_DEVICE) if name == super().__getattribute__("_fails") else result

    def cuDriverGetVersion(self, version: Any) -> int:
        return _set(version, self._cuda)

    def cuInit(self, flags: ctypes.c_uint) -> int:
        return 0 if flags.value == 0 else NO_DEVICE

    def cuDeviceGet(self, device: Any, ordinal: ctypes.c_int) -> int:
        return _set(device, ordinal.value)

    def cuDeviceGetName(self, name: Any, size: ctypes.c_int, _: Any) -> int:
        assert ctypes.sizeof(name) == size.value
        name.value = self._gpu.encode()
        return 0

    def cuDeviceGetAttribute(self, value: Any, which: ctypes.c_int, _: Any) -> int:
        return _set(value, dict(zip((75, 76), self._capability, strict=True))[which.value])

    def cuGetErrorString(self, code: ctypes.c_int, text: Any) -> int:
        return _set(text, f"error {code.value} in words".encode())

    def cuDevicePrimaryCtxRetain(self, context: Any, _: Any) -> int:
        return _set(context, 1)

    def cuCtxSetCurrent(self, context: ctypes.c_void_p) -> int:
        return 0 if context.value else NO_DEVICE

    def cuCtxSynchronize(self) -> int:
        return 0

    def cuMemAlloc_v2(self, address: Any, size: ctypes.c_size_t) -> int:
        buffer = ctypes.create_string_buffer(size.value)
        self.memory[ctypes.addressof(buffer)] = buffer
        return _set(address, ctypes.addressof(buffer))

    def cuMemFree_v2(self, address: ctypes.c_uint64) -> int:
        del self.memory[address.value]
        return 0

    def cuMemcpyHtoD_v2(
        self, to: ctypes.c_uint64, source: ctypes.c_char_p, size: ctypes.c_size_t
    ) -> int:
        assert size.value <= ctypes.sizeof(self.memory[to.value])
        ctypes.memmove(to.value, source, size.value)
        return 0

    def cuMemcpyDtoH_v2(self, to: Any, source: ctypes.c_uint64, size: ctypes.c_size_t) -> int:
        assert size.value <= ctypes.sizeof(self.memory[source.value])
        ctypes.memmove(to, source.value, size.value)
        return 0


def _set(to: Any, value: Any) -> int:
    to._obj.value = value
    return 0
