"""Python models and their packages."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import ClassVar, Literal

from model_build.export import environments
from model_build.export.step import RecipeStep, StepContext, StepOutput
from model_build.export.weights import CACHE
from model_build.format import Format
from model_build.formats.python.bls_calls import bls_calls
from model_build.formats.python.execution_environments import (
    execution_environments,
    foreign_environments,
)
from model_build.formats.python.imports import PACKAGES, python_imports
from model_build.formats.python.models import python_models
from model_build.native_libraries import missing_library_warnings
from model_build.progress import WARNING, Progress
from model_build.recipe_values import InnerPath
from model_build.repository import Model

INIT_FILE = "__init__.py"
MADE_FOR = "# Made by `tritonsm lock` for Python"
"""Beginning of the comment with the Python versions that a requirements file fits."""

INIT_CODE = dedent(
    f"""\
    # Written by the build: Triton imports this folder as the package that model.py is in.
    import os, sys

    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "{PACKAGES}"))
    """
)


class PythonPackages(RecipeStep):
    """A folder of installed packages for a Python model, which Triton's image does not have.

    `requirements` is a file in the recipe's folder with a pin and a hash in every line.
    """

    file_keys: ClassVar[tuple[str, ...]] = ("requirements",)
    requirements_key: ClassVar[str] = "requirements"
    is_cacheable: ClassVar[bool] = False
    to: Literal["python-packages"]
    requirements: InnerPath

    def problems(self, file: str, model: Model) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield reasons why a model would not find its packages."""
        version, _, name = file.rpartition("/")
        if name != PACKAGES:
            yield (), f"packages are found in {version}/{PACKAGES}: write that"
        if (model.directory.parent / version / INIT_FILE).exists():
            yield (), f"{version}/{INIT_FILE} is written by the build: move its code to model.py"

    def generate(self, output_path: Path, context: StepContext) -> StepOutput:
        """Install the packages and print warnings about missing native libraries."""
        requirements = context.model_folder / self.requirements
        install(
            requirements,
            to=output_path,
            python=context.python_version,
            progress=context.progress,
        )
        for line in missing_library_warnings(output_path):
            context.progress(f"{WARNING} {line}")
        return StepOutput([])


def install(
    requirements: Path, *, to: Path, python: str, progress: Progress, cache: Path = CACHE
) -> None:
    """Install the pinned `requirements` into the folder `to`, for Triton's Python on Linux x86-64.

    Triton imports a model as the module `1.model`, and so runs `1/__init__.py` first, which adds
    the packages to `sys.path` (triton-inference-server/python_backend, src/pb_stub.cc, `StubSetup`;
    the same in older versions).

    `python` is the version that runs models (`3.12`), not the builder's. Only wheels with a listed
    hash are installed, without their dependencies, so that the result is the same on every machine.
    They are installed once for all models, such as the rows of a table. Raise `BuildError`.
    """
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in (28, 17)] + ["manylinux2014_x86_64"]
    options = ["--no-compile", "--implementation", "cp"]
    options += [option for platform in platforms for option in ("--platform", platform)]
    options += ["--python-version", python]
    packages = environments.install(requirements, *options, progress=progress, cache=cache)
    shutil.copytree(packages, to)
    to.with_name(INIT_FILE).write_text(INIT_CODE, encoding="utf-8")


FORMAT = Format(
    backend="python",
    file="model.py",
    steps=(PythonPackages,),
    config_rules=(python_models, bls_calls, execution_environments, foreign_environments),
    model_rules=(python_imports,),
)
