"""What this machine must have for Triton to run, checked before anything is started."""

import ctypes.util
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from local_aws.errors import LocalAwsError

UNSHARE = (
    *("unshare", "--user", "--map-root-user", "--net", "--pid", "--mount"),
    *("--fork", "--kill-child", "--mount-proc"),
)
"""Runs a command in network, process and mount namespaces of its own, without being root."""


@dataclass(frozen=True)
class TritonInstallation:
    """The Triton that the nvidia-pytriton wheel carries.

    `library_path` is where the Python backend finds libpython. `isolated` says whether the kernel
    lets servers have a network namespace of their own.
    """

    root: Path
    library_path: Path
    isolated: bool

    @property
    def binary(self) -> Path:
        """The `tritonserver` program."""
        return self.root / "bin" / "tritonserver"

    @property
    def stub(self) -> Path:
        """The process in which this Python version's models run."""
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return self.root / "python_backend_stubs" / version / "triton_python_backend_stub"


def find_triton() -> TritonInstallation:
    """Return the installation, or raise `LocalAwsError` with the one thing to do first."""
    if not (3, 11) <= sys.version_info[:2] < (3, 13):
        raise LocalAwsError(
            f"Python {sys.version_info.major}.{sys.version_info.minor} is not supported: use 3.11 "
            "or 3.12, the versions that the local Triton has a Python backend for"
        )
    spec = importlib.util.find_spec("pytriton")
    if spec is None or spec.origin is None:
        raise LocalAwsError("nvidia-pytriton is not installed: run make install")
    numpy = importlib.metadata.version("numpy")
    if int(numpy.split(".")[0]) >= 2:
        raise LocalAwsError(
            f"numpy {numpy} is installed, with which the local Triton's Python backend returns "
            "empty tensors: run make install to get the pinned one"
        )
    return TritonInstallation(
        root=Path(spec.origin).parent / "tritonserver",
        library_path=_libpython_folder(),
        isolated=_can_unshare(),
    )


def _libpython_folder() -> Path:
    name = f"libpython{sys.version_info.major}.{sys.version_info.minor}.so.1.0"
    folder = Path(sysconfig.get_config_var("LIBDIR") or "")
    if (folder / name).exists():
        return folder
    if ctypes.util.find_library(name.removeprefix("lib").removesuffix(".so.1.0")):
        return Path("/usr/lib")  # the dynamic linker knows it by itself
    package = name.removesuffix(".so.1.0")
    raise LocalAwsError(
        f"{name} is not on this machine, which Triton's Python backend needs: install it (Debian, "
        f"Ubuntu: apt-get install {package}) or use a Python built with --enable-shared"
    )


def _can_unshare() -> bool:
    try:
        tried = subprocess.run([*UNSHARE, "true"], capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0


def search_path() -> str:
    """Return PATH with this interpreter's environment first.

    The Python backend embeds an interpreter that takes its site-packages from the `python3` that
    comes first on PATH; VIRTUAL_ENV and PYTHONPATH do not reach it.
    """
    return os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ.get("PATH", os.defpath)])
