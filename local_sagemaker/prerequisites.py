"""Checks whether this machine meets the requirements of the local Triton."""

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from local_sagemaker.errors import LocalSageMakerError

UNSHARE = (
    *(shutil.which("unshare") or "unshare", "--user", "--map-root-user"),
    *("--net", "--pid", "--ipc", "--mount"),
    *("--fork", "--kill-child", "--mount-proc"),
)
"""Prefix of a command that runs in new namespaces (network, pid, ipc, mount), without root."""
NOBODY = 65534
"""The id of the user nobody, which owns no files (systemd, docs/UIDS-GIDS.md)."""
IMAGE_PYTHON = "3.10"
"""Python version in the image of 24.09, the SageMaker release closest to the local Triton."""


@dataclass(frozen=True)
class Interpreter:
    """A Python on this machine, and the stub of Triton's Python backend that embeds it.

    `version` is for example 3.11; `library_path` is the folder of libpython.
    """

    program: Path
    version: str
    library_path: Path
    stub: Path

    def can_be_embedded(self) -> bool:
        """Return whether the stub finds libpython. If it did not, Triton would wait forever.

        A working stub without arguments exits with 1. Source: python_backend, src/pb_stub.cc.
        """
        variables = {"LD_LIBRARY_PATH": str(self.library_path)}
        finished = subprocess.run([self.stub], env=variables, capture_output=True, check=False)
        return finished.returncode == 1


@dataclass(frozen=True)
class TritonInstallation:
    """The Triton in the nvidia-pytriton wheel.

    `own_python` runs this program and the stand-ins for C++ backends; `model_python` runs Python
    models. `isolated` is whether the kernel allows unprivileged namespaces. `user` is the id of the
    user that servers run as, None for this program's.
    """

    root: Path
    own_python: Interpreter
    model_python: Interpreter
    isolated: bool
    user: int | None = None

    @property
    def binary(self) -> Path:
        """The `tritonserver` program."""
        return self.root / "bin" / "tritonserver"

    def as_nobody(self) -> Self:
        """Return the installation with servers that run as nobody instead of as root.

        Unchanged with namespaces, for other users, or if nobody cannot read the installation.
        """
        paths = [self.binary, self.own_python.stub, self.own_python.program]
        paths += [self.model_python.stub, self.model_python.program]
        if self.isolated or os.geteuid() or not _readable_by_nobody(paths):
            return self
        return replace(self, user=NOBODY)

    @property
    def isolation_warning(self) -> str | None:
        """A warning if servers run without namespaces, else None."""
        if self.isolated:
            return None
        return (
            "this kernel grants no namespaces: each Triton listens on every interface of this "
            "machine, and models read and write all that you can"
        )

    @property
    def python_warning(self) -> str | None:
        """A warning if Python models run in another Python version than on AWS, else None."""
        python = self.model_python.version
        if python == IMAGE_PYTHON:
            return None
        return (
            f"Python models run in Python {python} here, and archives are built for it, below "
            f"other prefixes than on AWS, where it is {IMAGE_PYTHON}: put python{IMAGE_PYTHON} "
            "with its libpython on PATH to have the same"
        )


def find_triton() -> TritonInstallation:
    """Return the installation. Raise `LocalSageMakerError` for the first missing requirement."""
    if not (3, 11) <= sys.version_info[:2] < (3, 13):
        raise LocalSageMakerError(
            f"Python {sys.version_info.major}.{sys.version_info.minor} is not supported: use 3.11 "
            "or 3.12, the versions that the Python backend of the local Triton supports"
        )
    spec = importlib.util.find_spec("pytriton")
    if spec is None or spec.origin is None:
        if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
            raise LocalSageMakerError(
                f"the local Triton needs Linux on x86-64, but this is {platform.system()} on "
                f"{platform.machine()}, for which nvidia-pytriton has no wheel: deploy to AWS, or "
                "use a Linux machine"
            )
        raise LocalSageMakerError(
            "nvidia-pytriton is not installed: in a checkout, pip install "
            "'./local_sagemaker[triton]'"
        )
    numpy = importlib.metadata.version("numpy")
    if int(numpy.split(".")[0]) >= 2:
        raise LocalSageMakerError(
            f"numpy {numpy} is not supported: the local Triton's Python backend returns empty "
            "tensors with it: pip install 'numpy<2'"
        )
    root = Path(spec.origin).parent / "tritonserver"
    if not root.is_dir():
        raise LocalSageMakerError(
            f"nvidia-pytriton has no {root.name}: pip install --force-reinstall nvidia-pytriton"
        )
    own_python = _own_python(root)
    return TritonInstallation(
        root=root,
        own_python=own_python,
        model_python=_image_python(root) or own_python,
        isolated=_can_unshare(),
    )


def _own_python(root: Path) -> Interpreter:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = Path(sysconfig.get_config_var("LIBDIR"))
    interpreter = Interpreter(Path(sys.executable), version, folder, _stub(root, version))
    if not interpreter.can_be_embedded():
        raise LocalSageMakerError(
            f"libpython{version}.so.1.0, which Triton's Python backend needs, is missing: "
            f"install it (Debian, Ubuntu: apt-get install libpython{version}) or use a "
            "Python built with --enable-shared"
        )
    return interpreter


def _image_python(root: Path) -> Interpreter | None:
    """Return Python `IMAGE_PYTHON` if this machine has one that can be embedded, else None."""
    program = shutil.which(f"python{IMAGE_PYTHON}")
    if program is None:
        return None
    script = "import sysconfig, venv; print(sysconfig.get_config_var('LIBDIR'))"
    finished = subprocess.run(
        [program, "-I", "-c", script], capture_output=True, text=True, check=False
    )
    if finished.returncode:
        return None
    folder = Path(finished.stdout.strip())
    interpreter = Interpreter(Path(program), IMAGE_PYTHON, folder, _stub(root, IMAGE_PYTHON))
    return interpreter if interpreter.can_be_embedded() else None


def _stub(root: Path, version: str) -> Path:
    return root / "python_backend_stubs" / version / "triton_python_backend_stub"


def _can_unshare() -> bool:
    try:
        finished = subprocess.run([*UNSHARE, "true"], capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return finished.returncode == 0


def _readable_by_nobody(paths: Sequence[Path]) -> bool:
    """Return whether the user nobody can execute files. Only root can ask."""
    script = 'for path; do [ -x "$path" ] || exit 1; done'
    command = ["sh", "-c", script, "sh", *map(str, paths)]
    finished = subprocess.run(command, user=NOBODY, group=NOBODY, extra_groups=[], check=False)
    return finished.returncode == 0


def search_path(environment: Path | None = None) -> str:
    """Return PATH with a virtual environment's programs first; by default this interpreter's.

    The interpreter in the Python backend uses the site-packages of the first `python3` on PATH; it
    ignores VIRTUAL_ENV and PYTHONPATH.
    """
    programs = (environment or Path(sys.prefix)) / "bin"
    return os.pathsep.join([str(programs), os.environ.get("PATH", os.defpath)])
