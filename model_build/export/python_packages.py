"""Packages for a Python-backend model, installed into the archive."""

from pathlib import Path
from textwrap import dedent

from model_build.errors import BuildError
from model_build.export import pip
from model_build.python_imports import PACKAGES

FINDER = "__init__.py"

FINDS_PACKAGES = dedent(
    f"""\
    # Written by the build: Triton imports this folder as the package that model.py is in.
    import os, sys

    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "{PACKAGES}"))
    """
)


def install(requirements: Path, *, to: Path, python: str) -> None:
    """Install the pinned `requirements` into the folder `to`, for Triton's Python on Linux x86-64.

    The model beside it finds them without doing anything for it: Triton imports a model as the
    module `1.model`, and so first runs `1/__init__.py`, which puts them on the path
    (triton-inference-server/python_backend, src/pb_stub.cc, `StubSetup`; older ones likewise).

    `python` is the version that models run in (`3.12`), not the one that runs here. Only wheels
    with a listed hash are taken, without their dependencies, and nothing is compiled: the same file
    gives the same folder everywhere. Raises `BuildError`.
    """
    if not requirements.is_file():
        raise BuildError(f"{requirements} does not exist: the recipe's `requirements` names it")
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in (28, 17)] + ["manylinux2014_x86_64"]
    options = ["--no-compile", "--implementation", "cp"]
    options += [option for platform in platforms for option in ("--platform", platform)]
    pip.install(requirements, to, *options, "--python-version", python)
    to.with_name(FINDER).write_text(FINDS_PACKAGES, encoding="utf-8")
