"""Pinned packages, installed by pip into a folder."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from model_build.errors import BuildError
from model_build.findings import Place


def install(requirements: Path, to: Path, *options: str) -> None:
    """Install the wheels that `requirements` pins with their hashes, and no others, into `to`.

    A build runs these packages beside its role. Nothing is compiled.

    Raises `BuildError` with every requirement without hashes, before anything is installed, or with
    the end of pip's error output.
    """
    if missing := [f"{place}: {message}" for place, message in missing_hashes(requirements)]:
        raise BuildError("\n".join(missing))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--require-hashes", "--only-binary", ":all:", *options]
    command += ["--target", str(to), "--requirement", str(requirements)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        errors = finished.stderr.strip()[-2000:]
        raise BuildError(f"{requirements} could not be installed:\n{errors}")


def missing_hashes(requirements: Path) -> Iterator[tuple[Place, str]]:
    """Yield the requirements of a file that have no hash, and how to add hashes.

    A requirement goes on after a backslash (pip, "Requirements File Format").
    """
    name = requirements.name
    line = 1
    for text in requirements.read_text(encoding="utf-8").replace("\\\n", "\\\r").split("\n"):
        words = text.partition("#")[0].split()
        if words and not words[0].startswith("-") and "--hash=" not in text:
            yield (
                Place(requirements, line),
                f"{words[0]}: has no hash, by which a build knows what it runs: add hashes with "
                f"`uv pip compile --no-deps --generate-hashes {name} -o {name}`",
            )
        line += 1 + text.count("\r")
