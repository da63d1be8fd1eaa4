"""Installation of pinned packages into a folder."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from model_build.errors import BuildError
from model_build.findings import Location


def install(requirements: Path, to: Path, *options: str) -> None:
    """Install the wheels that `requirements` pins with hashes, and no others, into `to`.

    Packages run with the build's permissions, so requirements without hashes raise `BuildError`
    before the installation. Raise `BuildError` with the end of pip's error output if it fails.
    """
    if missing := [f"{location}: {message}" for location, message in missing_hashes(requirements)]:
        raise BuildError("\n".join(missing))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--require-hashes", "--only-binary", ":all:", *options]
    command += ["--target", str(to), "--requirement", str(requirements)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        errors = process.stderr.strip()[-2000:]
        raise BuildError(f"{requirements} could not be installed:\n{errors}")


def missing_hashes(requirements: Path) -> Iterator[tuple[Location, str]]:
    """Yield the location and a message for each requirement without a hash.

    A backslash continues a line (pip, "Requirements File Format").
    """
    line = 1
    for text in requirements.read_text(encoding="utf-8").replace("\\\n", "\\\r").split("\n"):
        words = text.partition("#")[0].split()
        if words and not words[0].startswith("-") and "--hash=" not in text:
            yield (
                Location(requirements, line),
                f"{words[0]}: has no hash, so its content can change: add hashes with "
                f"`{lock_command(str(Location(requirements.parent)))}`",
            )
        line += 1 + text.count("\r")


def lock_command(folder: Path | str, *options: str) -> str:
    """Return the command that pins the packages of a model folder, to be pasted into a shell."""
    return shlex.join(["tritonsm", "lock", str(folder), *options])
