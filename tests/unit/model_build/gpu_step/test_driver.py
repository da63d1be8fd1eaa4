"""Calls of the CUDA driver library, which is a fake or missing."""

import ctypes
from pathlib import Path
from typing import Any

import pytest

from model_build.gpu_step import driver
from model_build.gpu_step.driver import Driver
from model_build.gpu_step.errors import StepError
from tests.gpu_stand_in.driver_stand_in import DriverStandIn


@pytest.fixture(autouse=True)
def _outside_nvidia_images(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run outside NVIDIA's images and without a kernel module."""
    monkeypatch.delenv("CUDA_VERSION", raising=False)
    monkeypatch.setattr(driver, "VERSION_FILE", tmp_path / "version")


def _use_library(monkeypatch: pytest.MonkeyPatch, library: Any) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: {"libcuda.so.1": library}[name])


def test_driver_has_gpu_and_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _use_library(monkeypatch, DriverStandIn(cuda=12020, gpu="NVIDIA L4", capability=(8, 9)))
    (tmp_path / "version").write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n"
        "GCC version:  gcc version 12.2.0\n"
    )
    gpu_driver = Driver()
    assert (gpu_driver.gpu, gpu_driver.compute_capability) == ("NVIDIA L4", "8.9")
    assert (gpu_driver.cuda, gpu_driver.version) == ("12.2", "535.183.01")


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        *((name, "finds no usable GPU .*") for name in ("cuInit", "cuDeviceGet")),
        *((f"cu{name}", "failed") for name in ("DriverGetVersion", "DeviceGetName")),
        ("cuDeviceGetAttribute", "failed"),
    ],
)
def test_failed_call_is_an_error(
    monkeypatch: pytest.MonkeyPatch, function: str, reason: str
) -> None:
    _use_library(monkeypatch, DriverStandIn(fails=function))
    error = rf"{reason}: {function} returned CUDA error 100 \(error 100 in words\)"
    with pytest.raises(StepError, match=error):
        Driver()


@pytest.mark.parametrize(
    ("driver_cuda", "image_cuda", "is_refused"),
    [
        (11040, "13.0.1.012", True),
        (12020, "12.9.0", False),  # minor versions are compatible
        (13000, "12.6.1", False),
        (12020, "", False),  # not an image of NVIDIA
    ],
)
def test_driver_older_than_the_image_is_refused(
    monkeypatch: pytest.MonkeyPatch, driver_cuda: int, image_cuda: str, *, is_refused: bool
) -> None:
    library = DriverStandIn(cuda=driver_cuda, fails="cuInit")
    _use_library(monkeypatch, library)
    monkeypatch.setenv("CUDA_VERSION", image_cuda)
    too_old = r"supports CUDA 11\.4, this image has CUDA 13\.0\.1\.012: .* too old"
    with pytest.raises(StepError, match=too_old if is_refused else "cuInit"):
        Driver()


def test_missing_driver_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(StepError, match=r"this machine has no NVIDIA driver \(libcuda\.so\.1\)"):
        Driver()
