"""Python packages for exporters that would clash with ours, installed once and cached."""

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

_DONE = ".complete"
_LINES = 12
_RUN = "import runpy, sys; sys.path.insert(0, sys.argv[1]); runpy.run_path(sys.argv[2])"


def run_script(
    requirements: Path,
    script: Path,
    order: dict[str, Any],
    *,
    progress: Progress,
    cache: Path = CACHE,
) -> None:
    """Run `script` with the packages of `requirements`; it reads `order` as JSON from its input.

    `requirements` pins every package, dependencies too: nothing else is installed, and no package
    of this process's environment is seen. Raises `BuildError` with the last lines that the script
    wrote when it fails.
    """
    packages = _installed(requirements, progress=progress, cache=cache)
    finished = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _RUN, str(packages), str(script)],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode:
        errors = "\n".join(finished.stderr.strip().splitlines()[-_LINES:])
        raise BuildError(f"{order['source']} failed with the packages of {requirements}:\n{errors}")


def _installed(requirements: Path, *, progress: Progress, cache: Path) -> Path:
    """Return the folder with the packages; a killed installation is begun again."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    digest = hashlib.sha256(f"{version}\n".encode() + requirements.read_bytes()).hexdigest()
    folder = cache / "environments" / digest[:16]
    with _locked(folder.with_suffix(".lock")):
        if not (folder / _DONE).exists():
            progress(f"installing {requirements} into a folder of its own, once")
            shutil.rmtree(folder, ignore_errors=True)
            pip.install(requirements, folder)
            (folder / _DONE).touch()
    return folder


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time in; a killed one lets go by itself."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
