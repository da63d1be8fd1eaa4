"""Checks whether this machine meets the requirements of the local Triton."""

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.settings import TRITONSERVER

UNSHARE = (
    *(shutil.which("unshare") or "unshare", "--user", "--map-root-user"),
    *("--net", "--pid", "--ipc", "--mount"),
    *("--fork", "--kill-child", "--mount-proc"),
)
"""Prefix of a command that runs in new namespaces (network, pid, ipc, mount), without root."""
NOBODY = 65534
"""The id of the user nobody, which owns no files (systemd, docs/UIDS-GIDS.md)."""
IMAGE_PYTHON = "3.10"
"""Python version in the image of 24.09, the SageMaker release closest to the packaged Triton."""
PACKAGED_VERSION = (2, 51)
STUB = "triton_python_backend_stub"
VERSION_SECONDS = 60
SERVER_VERSION = re.compile(r"\| server_version +\| (\d+)\.(\d+)")
"""The version in the log of a start."""


@dataclass(frozen=True)
class Interpreter:
    """A Python on this machine, and the stub of Triton's Python backend that embeds it.

    `version` is for example 3.11; `library_path` is the folder of libpython.
    """

    program: Path
    version: str
    library_path: Path
    stub: Path

    def can_be_embedded(self, libraries: Sequence[Path] = ()) -> bool:
        """Return whether the stub finds its libraries. If it did not, Triton would wait forever.

        A working stub without arguments exits with 1. Source: python_backend, src/pb_stub.cc.
        """
        variables = {"LD_LIBRARY_PATH": library_search_path(self, libraries)}
        finished = subprocess.run([self.stub], env=variables, capture_output=True, check=False)
        return finished.returncode == 1


def library_search_path(python: Interpreter, libraries: Iterable[Path]) -> str:
    """Return LD_LIBRARY_PATH of a program that embeds Python."""
    return os.pathsep.join(map(str, (python.library_path, *libraries)))


@dataclass(frozen=True)
class TritonInstallation:
    """A Triton: that of the nvidia-pytriton wheel, or another.

    `own_python` runs this program and the stand-ins for C++ backends; `model_python` runs Python
    models. `isolated` is whether the kernel allows unprivileged namespaces. `user` is the id of the
    user that servers run as, None for this program's. `libraries` are the folders of the shared
    libraries that another Triton needs.
    """

    root: Path
    own_python: Interpreter
    model_python: Interpreter
    isolated: bool
    user: int | None = None
    version: tuple[int, int] = PACKAGED_VERSION
    libraries: tuple[Path, ...] = ()

    @property
    def has_stand_ins(self) -> bool:
        """Whether its Python backend can run stand-ins: it has a stub for `own_python`."""
        return self.own_python.stub.is_file()

    @property
    def folders(self) -> set[Path]:
        """The folders that servers need; the wheel has shared libraries beside its package."""
        return {self.root, *self.libraries} if self.libraries else {self.root.parents[1]}

    @property
    def binary(self) -> Path:
        """The `tritonserver` program."""
        return self.root / "bin" / "tritonserver"

    def as_nobody(self) -> Self:
        """Return the installation with servers that run as nobody instead of as root.

        Unchanged with namespaces, for other users, or if nobody cannot read the installation.
        """
        paths = [self.binary, self.own_python.program]
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
        if python == IMAGE_PYTHON or self.libraries:
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
    numpy = importlib.metadata.version("numpy")
    if int(numpy.split(".")[0]) >= 2:
        raise LocalSageMakerError(
            f"numpy {numpy} is not supported: the local Triton's Python backend returns empty "
            "tensors with it: pip install 'numpy<2'"
        )
    if other := os.environ.get(TRITONSERVER):
        return _other_triton(Path(other).resolve())
    root = _packaged_root()
    own_python = _own_python(root)
    return TritonInstallation(
        root=root,
        own_python=own_python,
        model_python=_python(IMAGE_PYTHON, _stub(root, IMAGE_PYTHON)) or own_python,
        isolated=_can_unshare(),
    )


def _packaged_root() -> Path:
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
    root = Path(spec.origin).parent / "tritonserver"
    if not root.is_dir():
        raise LocalSageMakerError(
            f"nvidia-pytriton has no {root.name}: pip install --force-reinstall nvidia-pytriton"
        )
    return root


def _own_python(root: Path) -> Interpreter:
    interpreter = _this_python(_stub(root, f"3.{sys.version_info.minor}"))
    if not interpreter.can_be_embedded():
        raise LocalSageMakerError(
            f"libpython{interpreter.version}.so.1.0, which Triton's Python backend needs, is "
            f"missing: install it (Debian, Ubuntu: apt-get install libpython{interpreter.version}) "
            "or use a Python built with --enable-shared"
        )
    return interpreter


def _this_python(stub: Path) -> Interpreter:
    folder = Path(sysconfig.get_config_var("LIBDIR"))
    return Interpreter(Path(sys.executable), f"3.{sys.version_info.minor}", folder, stub)


def _python(version: str, stub: Path, libraries: Sequence[Path] = ()) -> Interpreter | None:
    """Return a Python if this machine has one that can be embedded, else None."""
    program = shutil.which(f"python{version}")
    if program is None:
        return None
    script = "import sysconfig, venv; print(sysconfig.get_config_var('LIBDIR'))"
    finished = subprocess.run(
        [program, "-I", "-c", script], capture_output=True, text=True, check=False
    )
    if finished.returncode:
        return None
    interpreter = Interpreter(Path(program), version, Path(finished.stdout.strip()), stub)
    return interpreter if interpreter.can_be_embedded(libraries) else None


def _other_triton(root: Path) -> TritonInstallation:
    """Return the Triton in a folder with the layout of /opt/tritonserver in NVIDIA's images.

    Its Python backend has one stub, for one version of Python. LD_LIBRARY_PATH may name folders of
    shared libraries that the image has elsewhere.
    """
    stub = root / "backends" / "python" / STUB
    try:
        embedded = re.search(rb"libpython(3\.\d+)\.so", stub.read_bytes())
    except OSError as error:
        raise LocalSageMakerError(
            f"{root} is no tritonserver: {error.strerror}: {stub}: name a folder like "
            "/opt/tritonserver in NVIDIA's images, with bin/tritonserver"
        ) from None
    version = embedded[1].decode() if embedded else IMAGE_PYTHON
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    libraries = (root / "lib", *(Path(folder) for folder in folders if folder))
    own_python = _this_python(stub)
    if version != own_python.version:
        own_python = _this_python(stub.with_name(f"{STUB}_{own_python.version}"))  # no such file
    model_python: Interpreter | None = own_python
    if own_python.stub != stub:
        model_python = _python(version, stub, libraries)
    if model_python is None or not model_python.can_be_embedded(libraries):
        raise LocalSageMakerError(
            f"python{version} with libpython{version}.so.1.0, which the Python backend of {root} "
            f"embeds, is missing: install it (Debian, Ubuntu: apt-get install libpython{version}) "
            "and put it on PATH"
        )
    installation = TritonInstallation(
        root=root,
        own_python=own_python,
        model_python=model_python,
        isolated=_can_unshare(),
        libraries=libraries,
    )
    return replace(installation, version=_ask_version(installation))


def _ask_version(triton: TritonInstallation) -> tuple[int, int]:
    """Start a server without an endpoint and a repository, which ends; return its version."""
    endpoints = [f"--allow-{name}=false" for name in ("grpc", "http", "metrics", "sagemaker")]
    finished = subprocess.run(
        [triton.binary, "--model-repository=/nonexistent", *endpoints],
        env={"LD_LIBRARY_PATH": os.pathsep.join(map(str, triton.libraries))},
        capture_output=True,
        text=True,
        check=False,
        timeout=VERSION_SECONDS,
    )
    log = finished.stdout + finished.stderr
    if match := SERVER_VERSION.search(log):
        return int(match[1]), int(match[2])
    tail = "\n".join(log.splitlines()[-5:])
    raise LocalSageMakerError(f"{triton.binary} does not tell its version; it writes:\n{tail}")


def _stub(root: Path, version: str) -> Path:
    return root / "python_backend_stubs" / version / STUB


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
