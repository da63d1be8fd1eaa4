"""Triton's backend directory for the local server.

The nvidia-pytriton wheel has the C++ python backend only. Triton takes a `model.py` in a backend's
directory for a backend written in Python, and so the folders beside this file stand in for the C++
backends of the production image: the same config.pbtxt and the same model file, run by the same
framework's Python package. Execution options of the C++ backends are not exercised.

Stand-ins run in this project's environment, and Python models in one of their own.
"""

import shlex
import shutil
from pathlib import Path

from local_sagemaker.hosting import packages
from local_sagemaker.prerequisites import TritonInstallation, search_path

STAND_INS = tuple(path.parent for path in sorted(Path(__file__).parent.glob("*/model.py")))


def install(triton: TritonInstallation, to: Path) -> None:
    """Fill the folder `to`, which may exist, with the python backend and the stand-ins.

    Raises `LocalSageMakerError` when the environment of Python models cannot be made.
    """
    stub = _python_backend(triton, to / "python")
    # A link: the stub finds the wheel's libraries relative to where it really lies. No script: that
    # would undo the PATH of a model with an EXECUTION_ENV_PATH.
    stub.unlink(missing_ok=True)
    stub.symlink_to(triton.model_python.stub)
    packages.make_environment(triton, to)
    for stand_in in STAND_INS:
        stub = _python_backend(triton, to / stand_in.name)
        stub.write_text(_in_own_environment(triton))
        stub.chmod(0o755)
        shutil.copy2(stand_in / "model.py", stub.parent)
        shutil.copy2(stand_in.parent / "stand_in.py", stub.parent)


def _python_backend(triton: TritonInstallation, folder: Path) -> Path:
    """Copy what the wheel has of it, and return where Triton looks for the stub.

    It takes a backend's own stub where that has utils beside it. Source: python_backend,
    src/python_be.cc.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # Copies: Triton refuses a library that is a link out of the backend directory.
    for name in ("libtriton_python.so", "triton_python_backend_utils.py"):
        shutil.copy2(triton.root / "backends" / "python" / name, folder)
    return folder / "triton_python_backend_stub"


def _in_own_environment(triton: TritonInstallation) -> str:
    """Return a script that starts a stub as if this project's environment were the server's."""
    own = triton.own_python
    path, libraries, stub = map(shlex.quote, (search_path(), str(own.library_path), str(own.stub)))
    return f'#!/bin/sh\nexport PATH={path} LD_LIBRARY_PATH={libraries}\nexec {stub} "$@"\n'
