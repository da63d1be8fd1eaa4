"""The driver is asked directly; here it is a stand-in, or it is not there."""

import ctypes
from typing import Any

import pytest

from model_build import BuildError
from model_build.export.nvidia_gpu import NvidiaGpu, require_gpu
from platform_facts import ComputeCapability

NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE


class Driver:
    """libcuda with one GPU; `fails` names the function that gives an error."""

    def __init__(self, *, fails: str = "") -> None:
        self._fails = fails

    def __getattr__(self, function: str) -> Any:
        if function == self._fails:
            return lambda *_: NO_DEVICE
        return {
            "cuInit": lambda _: 0,
            "cuDeviceGet": lambda device, index: self._set(device, index),
            "cuDeviceGetName": self._name,
            "cuDeviceGetAttribute": lambda value, what, _: self._set(value, {75: 8, 76: 6}[what]),
        }[function]

    @staticmethod
    def _set(to: Any, value: int) -> int:
        to._obj.value = value
        return 0

    @staticmethod
    def _name(buffer: Any, size: int, _: object) -> int:
        assert ctypes.sizeof(buffer) == size
        buffer.value = b"NVIDIA A10G"
        return 0


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda driver: monkeypatch.setattr(ctypes, "CDLL", lambda _: driver)


def test_the_first_gpu_is_told_with_its_compute_capability(use: Any) -> None:
    use(Driver())
    assert require_gpu() == NvidiaGpu("NVIDIA A10G", ComputeCapability(8, 6))


@pytest.mark.parametrize(
    "function", ["cuInit", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute"]
)
def test_a_driver_without_a_gpu_is_an_error_that_names_the_call(use: Any, function: str) -> None:
    use(Driver(fails=function))
    with pytest.raises(BuildError) as refused:
        require_gpu()
    assert str(refused.value) == (
        f"the NVIDIA driver finds no GPU that can be used ({function} gave CUDA error 100): see "
        "nvidia-smi"
    )


def test_without_a_driver_the_ways_out_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(BuildError) as refused:
        require_gpu()
    assert str(refused.value) == (
        "compiling a TensorRT engine needs an NVIDIA GPU, and this machine has no NVIDIA driver "
        "(libcuda.so.1): build in CodeBuild by deploying, or choose a cpu target, which is served "
        "the same model as ONNX"
    )


def test_this_machine_has_a_gpu_or_says_so() -> None:
    try:
        assert require_gpu().name
    except BuildError as error:
        assert "GPU" in str(error)  # noqa: PT017 - which of the two it is, depends on the machine
