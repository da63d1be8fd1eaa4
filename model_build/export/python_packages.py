"""Packages for a Python-backend model, installed into the archive."""

from pathlib import Path

from model_build.errors import BuildError
from model_build.export import pip


def install(requirements: Path, *, to: Path, python: str) -> None:
    """Install the pinned `requirements` into the folder `to`, for Triton's Python on Linux x86-64.

    `python` is the version that models run in (`3.12`), not the one that runs here. Only wheels
    with a listed hash are taken, without their dependencies, and nothing is compiled: the same file
    gives the same folder everywhere. Raises `BuildError`.
    """
    if not requirements.is_file():
        raise BuildError(f"{requirements} does not exist: the recipe's `requirements` names it")
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in (28, 17)] + ["manylinux2014_x86_64"]
    options = ["--no-compile", "--require-hashes", "--implementation", "cp"]
    options += [option for platform in platforms for option in ("--platform", platform)]
    pip.install(requirements, to, *options, "--python-version", python)
