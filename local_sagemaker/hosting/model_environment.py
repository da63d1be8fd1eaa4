"""The Python environment of models: it holds what Triton's image holds, and nothing of ours.

A model that imports something else and did not pack it fails here as on SageMaker. Every release's
image has numpy; what some have beside it (setuptools, pydantic, ...) is left out, as the next one
may lack it. Source: the pip commands in triton-inference-server/server, build.py.
"""

import importlib.metadata
import subprocess
from pathlib import Path

from local_sagemaker.hosting.package_cache import CACHE, install
from local_sagemaker.prerequisites import TritonInstallation


def folder(backend_directory: Path) -> Path:
    """Return where the environment lies, a virtual one, which `make` makes."""
    return backend_directory / "python" / "environment"


def make(triton: TritonInstallation, backend_directory: Path, *, cache: Path = CACHE) -> None:
    """Make it anew, with our numpy: linked, or installed where models have another Python version.

    Raises `LocalSageMakerError` when it cannot be installed.
    """
    to, python = folder(backend_directory), triton.model_python
    command = [str(python.program), "-I", "-m", "venv", "--clear", "--without-pip", str(to)]
    subprocess.run(command, check=True)
    numpy = importlib.metadata.distribution("numpy")
    packages = Path(str(numpy.locate_file("")))
    if python.version != triton.own_python.version:
        requirements = to.parent / "requirements.txt"
        requirements.write_text(f"numpy=={numpy.version}\n")
        packages = install(requirements, python=python.version, cache=cache)
    for name in sorted({file.parts[0] for file in numpy.files or ()} - {".."}):
        (to / "lib" / f"python{python.version}" / "site-packages" / name).symlink_to(
            packages / name
        )
