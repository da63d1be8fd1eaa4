"""The driver is asked directly; here it is a stand-in, or it is not there."""

import ctypes
from pathlib import Path
from typing import Any

import pytest

from model_build.gpu_step import driver
from model_build.gpu_step.driver import Driver
from model_build.gpu_step.errors import StepError
from tests.gpu_stand_in.driver_stand_in import DriverStandIn


@pytest.fixture(autouse=True)
def no_image(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither an image of NVIDIA's nor a kernel module."""
    monkeypatch.delenv("CUDA_VERSION", raising=False)
    monkeypatch.setattr(driver, "PROC", tmp_path / "version")


def _use(monkeypatch: pytest.MonkeyPatch, library: Any) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: {"libcuda.so.1": library}[name])


def test_the_first_gpu_is_told_with_its_driver(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _use(monkeypatch, DriverStandIn(cuda=12020, gpu="NVIDIA L4", capability=(8, 9)))
    (tmp_path / "version").write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n"
        "GCC version:  gcc version 12.2.0\n"
    )
    result = Driver()
    assert (result.gpu, result.compute_capability) == ("NVIDIA L4", "8.9")
    assert (result.cuda, result.version) == ("12.2", "535.183.01")


def test_memory_holds_what_was_written_until_it_is_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    library = DriverStandIn()
    _use(monkeypatch, library)
    result = Driver()
    result.activate()
    address, empty = result.allocate(5), result.allocate(0)
    result.write(address, b"bytes")
    result.write(empty, b"")
    result.wait()
    assert (result.read(address, 5), result.read(empty, 0)) == (b"bytes", b"")
    result.free(address)
    assert list(library.memory) == [empty]


@pytest.mark.parametrize("function", ["cuInit", "cuDeviceGet"])
def test_a_driver_without_a_gpu_is_an_error_that_names_the_call(
    monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    _use(monkeypatch, DriverStandIn(fails=function))
    with pytest.raises(StepError) as refused:
        Driver()
    assert str(refused.value) == (
        "the NVIDIA driver of this machine finds no usable GPU (nvidia-smi lists GPUs): "
        f"{function} returned CUDA error 100 (error 100 in words)"
    )


@pytest.mark.parametrize(
    "function", ["cuDriverGetVersion", "cuDeviceGetName", "cuDeviceGetAttribute"]
)
def test_whatever_else_fails_is_named(monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    _use(monkeypatch, DriverStandIn(fails=function))
    with pytest.raises(
        StepError, match=f"of this machine failed: {function} returned CUDA error 100"
    ):
        Driver()


@pytest.mark.parametrize(
    ("supported", "image", "refused"),
    [
        (11040, "13.0.1.012", True),
        (12020, "12.9.0", False),  # minor versions are compatible
        (13000, "12.6.1", False),
        (12020, "", False),  # no image of NVIDIA's
    ],
)
def test_a_driver_older_than_the_images_cuda_is_refused_before_cuinit(
    monkeypatch: pytest.MonkeyPatch, supported: int, image: str, refused: bool
) -> None:
    library = DriverStandIn(cuda=supported, fails="cuInit")
    _use(monkeypatch, library)
    monkeypatch.setenv("CUDA_VERSION", image)
    log = (
        r"supports CUDA 11\.4, this image has CUDA 13\.0\.1\.012: .* too old"
        if refused
        else "cuInit"
    )
    with pytest.raises(StepError, match=log):
        Driver()


def test_without_a_driver_it_is_an_error_and_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(StepError, match=r"this machine has no NVIDIA driver \(libcuda\.so\.1\)"):
        Driver()
