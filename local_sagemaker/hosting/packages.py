"""Installation of packages for Python models and for the stand-ins of Triton's backends.

The environment of Python models contains only numpy, which is in the image of every Triton release.
A model that imports another package, which is not in its archive, fails here as on SageMaker.
Packages that only some releases have (setuptools, pydantic, ...) are omitted. Source: the pip
commands in triton-inference-server/server, build.py.

Additional packages of stand-ins are large and rarely needed. They are installed when a model of the
backend is first loaded.
"""

import fcntl
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.prerequisites import TritonInstallation

BACKENDS = Path(__file__).parent / "backends"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "triton-local-aws"

_COMPLETE = ".complete"
"""Name of the file that marks a complete installation."""

MAX_CONFIG_CHARACTERS = 1 << 20

_BACKEND = re.compile(r"""^\s*(?:backend|platform)\s*:\s*["'](\w+)["']""", re.MULTILINE)


def install(requirements: Path, *, python: str, cache: Path = CACHE) -> Path:
    """Install packages for a Python version such as 3.10; return their folder in the cache.

    `requirements` is in the folder of its backend. Raise `LocalSageMakerError` on failure.
    """
    digest = hashlib.sha256(f"{python}\n".encode() + requirements.read_bytes()).hexdigest()
    folder = cache / digest[:16]
    cache.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released if the process is killed
        if not (folder / _COMPLETE).exists():
            shutil.rmtree(folder, ignore_errors=True)
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
            pip += ["--disable-pip-version-check", "--target", str(folder)]
            pip += ["--only-binary=:all:", "--python-version", python]
            pip += ["--requirement", str(requirements)]
            finished = subprocess.run(pip, capture_output=True, text=True, check=False)
            if finished.returncode:
                raise LocalSageMakerError(
                    f"the packages of the local {requirements.parent.name} backend could not be "
                    f"installed: {finished.stderr.strip()[-500:]}"
                )
            (folder / _COMPLETE).touch()
    return folder


def environment_folder(backend_directory: Path) -> Path:
    """Return the path of the virtual environment for Python models."""
    return backend_directory / "python" / "environment"


def make_environment(
    triton: TritonInstallation, backend_directory: Path, *, cache: Path = CACHE
) -> None:
    """Create the virtual environment for Python models, with numpy.

    numpy is linked from this program's environment, or installed if models use another Python
    version. Raise `LocalSageMakerError` if the installation fails.
    """
    folder, python = environment_folder(backend_directory), triton.model_python
    command = [str(python.program), "-I", "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(command, check=True)
    if python.version == triton.own_python.version:
        numpy = importlib.metadata.distribution("numpy")
        packages = Path(str(numpy.locate_file("")))
        names = {file.parts[0] for file in numpy.files or ()} - {".."}
    else:
        requirements = BACKENDS / "python" / "requirements.txt"
        packages = install(requirements, python=python.version, cache=cache)
        names = {path.name for path in packages.iterdir()}
    for name in sorted(names):
        (folder / "lib" / f"python{python.version}" / "site-packages" / name).symlink_to(
            packages / name
        )


def install_for_stand_ins(
    repository: Path, backend_directory: Path, *, cache: Path = CACHE
) -> None:
    """Install the packages that the stand-ins of the models in `repository` need.

    Raise `LocalSageMakerError` on failure.
    """
    configs = [_read_config(path) for path in repository.rglob("config.pbtxt")]
    backends = {name for config in configs for name in _BACKEND.findall(config)} - {"python"}
    for backend in sorted(backends):
        requirements = BACKENDS / backend / "requirements.txt"
        packages = backend_directory / backend / "site-packages"
        if requirements.is_file() and not packages.exists():
            version = f"{sys.version_info.major}.{sys.version_info.minor}"
            installed = install(requirements, python=version, cache=cache)
            packages.unlink(missing_ok=True)  # a dangling link: the cache was deleted
            packages.symlink_to(installed)


def _read_config(config: Path) -> str:
    """Return the first `MAX_CONFIG_CHARACTERS` of a configuration file, which may be huge."""
    with config.open(errors="replace") as file:
        return file.read(MAX_CONFIG_CHARACTERS)
