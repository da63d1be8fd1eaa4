"""Cached Python environments for exporters whose packages conflict with the builder's."""

import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from model_build.errors import BuildError
from model_build.export import pip
from model_build.export.weights import CACHE
from model_build.progress import Progress

_ERROR_LINES = 12
_RUN_SCRIPT = "import runpy, sys; sys.path.insert(0, sys.argv[1]); runpy.run_path(sys.argv[2])"


def run_script(
    requirements: Path,
    script: Path,
    request: dict[str, Any],
    *,
    progress: Progress,
    cache: Path = CACHE,
) -> None:
    """Run `script` with the packages of `requirements` and `request` as JSON on its stdin.

    `requirements` pins all packages, including dependencies; the script sees no other packages.
    Raise `BuildError` with the end of the script's error output if it fails.
    """
    packages = install(requirements, progress=progress, cache=cache)
    process = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _RUN_SCRIPT, str(packages), str(script)],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        errors = "\n".join(process.stderr.strip().splitlines()[-_ERROR_LINES:])
        source = request["source"]
        raise BuildError(f"{source} failed with the packages of {requirements}:\n{errors}")


def install(requirements: Path, *options: str, progress: Progress, cache: Path = CACHE) -> Path:
    """Return the folder with the packages, which `pip.install` installs once.

    An incomplete installation is repeated.
    """
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    key = "\n".join([version, *options, ""]).encode() + requirements.read_bytes()
    folder = cache / "environments" / hashlib.sha256(key).hexdigest()[:16]
    marker = folder.with_suffix(".complete")
    with _hold_lock(folder.with_suffix(".lock")):
        if not (folder.is_dir() and marker.exists()):
            progress(f"installing {requirements} into the cache")
            shutil.rmtree(folder, ignore_errors=True)
            pip.install(requirements, folder, *options)
            folder.mkdir(exist_ok=True)  # pip creates none for no package
            marker.touch()
    return folder


@contextmanager
def _hold_lock(path: Path) -> Iterator[None]:
    """Hold an exclusive file lock, which the system releases if the process is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
