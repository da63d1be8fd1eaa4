"""Pinned packages, installed by pip into a folder."""

import subprocess
import sys
from pathlib import Path

from model_build.errors import BuildError


def install(requirements: Path, to: Path, *options: str) -> None:
    """Install the wheels that `requirements` pins with their hashes, and no others, into `to`.

    A build runs these packages beside its role. Nothing is compiled.

    Raises `BuildError` with the end of what pip said.
    """
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--require-hashes", "--only-binary", ":all:", *options]
    command += ["--target", str(to), "--requirement", str(requirements)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        said = finished.stderr.strip()[-2000:]
        raise BuildError(f"{requirements} could not be installed:\n{said}")
