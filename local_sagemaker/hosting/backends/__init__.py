"""Triton's backend directory for the local server.

The nvidia-pytriton wheel only contains the python backend. Triton runs a `model.py` in a backend's
directory as a backend written in Python. The folders beside this file are such stand-ins for the
C++ backends of the production image: they read the same config.pbtxt and model file, and use the
Python package of the same framework. Execution options of the C++ backends have no effect.

Stand-ins run in this project's Python environment, Python models in a separate one.
"""

import importlib.metadata
import os
import re
import shlex
import shutil
from contextlib import suppress
from pathlib import Path

from local_sagemaker.hosting import packages
from local_sagemaker.prerequisites import (
    TritonInstallation,
    library_search_path,
    search_path,
)

FRAMEWORKS = {
    "dali": "nvidia-dali-cuda120",
    "fil": "treelite",
    "onnxruntime": "onnxruntime",
    "pytorch": "torch",
}
"""The Python package of the framework of each stand-in."""
STAND_INS = tuple(path.parent for path in sorted(Path(__file__).parent.glob("*/model.py")))


def framework_versions(directory: Path | None = None) -> dict[str, str]:
    """Return the framework of each usable stand-in, such as `torch 2.13.0`, by backend.

    If `directory`, a backend directory, exists, only of those that it has.
    """
    versions = {}
    for backend, package in FRAMEWORKS.items():
        if directory and directory.is_dir() and not (directory / backend / "model.py").is_file():
            continue
        requirements = Path(__file__).parent / backend / "requirements.txt"
        if requirements.is_file():
            pins = re.findall(rf"^{package}==(\S+)", requirements.read_text(), re.MULTILINE)
            versions[backend] = f"{package} {pins[0]}"
        else:
            with suppress(importlib.metadata.PackageNotFoundError):
                versions[backend] = f"{package} {importlib.metadata.version(package)}"
    return versions


def install(triton: TritonInstallation, directory: Path) -> None:
    """Install backends and stand-ins into a new backend directory.

    Backends that the server brings have no stand-in. Raise `LocalSageMakerError` if the environment
    of Python models cannot be created.
    """
    for backend in (triton.root / "backends").iterdir():
        if backend.name != "python":
            _link_files(backend, directory / backend.name)
    stub = _copy_python_backend(triton, directory / "python")
    # A link, because the stub finds the wheel's libraries relative to its real path. Not a script,
    # because it would override the PATH of a model with EXECUTION_ENV_PATH.
    stub.symlink_to(triton.model_python.stub)
    packages.make_environment(triton, directory)
    for stand_in in STAND_INS if triton.has_stand_ins else ():
        if (triton.root / "backends" / stand_in.name).is_dir():
            continue
        stub = _copy_python_backend(triton, directory / stand_in.name)
        stub.write_text(_stub_script(triton))
        stub.chmod(0o755)
        shutil.copy2(stand_in / "model.py", stub.parent)
        shutil.copy2(stand_in.parent / "stand_in.py", stub.parent)


def _link_files(backend: Path, folder: Path) -> None:
    """Create hard links of a backend's files, which may be huge; on another file system, copies."""
    try:
        shutil.copytree(backend, folder, copy_function=os.link)
    except (OSError, shutil.Error):
        shutil.copytree(backend, folder, dirs_exist_ok=True)


def _copy_python_backend(triton: TritonInstallation, folder: Path) -> Path:
    """Copy the python backend's files into a backend folder; return the path of its stub.

    Triton uses the stub in the backend's folder if the utils file is beside it. Source:
    python_backend, src/python_be.cc.
    """
    folder.mkdir(parents=True)
    # Copies, because Triton rejects links that leave the backend directory.
    for name in ("libtriton_python.so", "triton_python_backend_utils.py"):
        shutil.copy2(triton.root / "backends" / "python" / name, folder)
    return folder / "triton_python_backend_stub"


def _stub_script(triton: TritonInstallation) -> str:
    """Return a script that starts a stub in this project's Python environment."""
    python = triton.own_python
    values = (search_path(), library_search_path(python, triton.libraries), str(python.stub))
    path, libraries, stub = map(shlex.quote, values)
    return f'#!/bin/sh\nexport PATH={path} LD_LIBRARY_PATH={libraries}\nexec {stub} "$@"\n'
