"""Packages that models need and this environment does not have, installed once."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from local_sagemaker.errors import LocalSageMakerError

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "triton-local-aws"

_DONE = ".complete"


def install(requirements: Path, *, python: str, cache: Path = CACHE) -> Path:
    """Return a folder with these packages for a Python version such as 3.10.

    It stays in the cache. The file lies in the folder of the backend that needs them. Raises
    `LocalSageMakerError` when they cannot be installed.
    """
    digest = hashlib.sha256(f"{python}\n".encode() + requirements.read_bytes()).hexdigest()
    folder = cache / digest[:16]
    cache.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a killed process lets go
        if not (folder / _DONE).exists():
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
            (folder / _DONE).touch()
    return folder
