"""Triton's backend directory for the local server.

The nvidia-pytriton wheel has the C++ python backend only. Triton takes a `model.py` in a backend's
directory for a backend written in Python, and so the folders beside this file stand in for the C++
backends of the production image: the same config.pbtxt and the same model file, run by the same
framework's Python package. Execution options of the C++ backends are not exercised.
"""

import shutil
from pathlib import Path

from local_aws.prerequisites import TritonInstallation

STAND_INS = tuple(path.parent for path in sorted(Path(__file__).parent.glob("*/model.py")))


def install(triton: TritonInstallation, to: Path) -> None:
    """Fill the folder `to`, which may exist, with the python backend and the stand-ins."""
    bundled = triton.root / "backends" / "python"
    python = to / "python"
    python.mkdir(parents=True, exist_ok=True)
    # A copy: Triton refuses a library that is a link out of the backend directory.
    shutil.copy2(bundled / "libtriton_python.so", python)
    shutil.copy2(bundled / "triton_python_backend_utils.py", python)
    # A link: the stub finds the wheel's libraries relative to where it really lies.
    stub = python / "triton_python_backend_stub"
    stub.unlink(missing_ok=True)
    stub.symlink_to(triton.stub)
    for stand_in in STAND_INS:
        folder = to / stand_in.name
        folder.mkdir(exist_ok=True)
        shutil.copy2(stand_in / "model.py", folder)
        shutil.copy2(stand_in.parent / "stand_in.py", folder)
        shutil.copy2(bundled / "libtriton_python.so", folder)
