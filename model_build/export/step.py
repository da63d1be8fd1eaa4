"""A step of a recipe: how one file is made, and what that needs."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import platform_facts
from model_build.engines.provider import Engines
from model_build.errors import BuildError
from model_build.export.gate import GateReport
from model_build.gpu_step.result import JobResult
from model_build.progress import Progress
from model_build.recipe_values import Strict
from model_build.repository import Model
from model_build.target import BuildTarget

Gates = list[tuple[str, GateReport]]
"""The two forms that were compared, and the result."""


class StepOutput(NamedTuple):
    """The history of a file: its gates, and for a TensorRT plan the result of the GPU step."""

    gates: Gates
    engine: JobResult | None = None


class Writer(NamedTuple):
    """The library that writes a file, which the release must read it with.

    `name` is that of the field of `platform_facts.Release`, `packages` a pattern of PyPI's names.
    """

    name: str
    packages: str


@dataclass(frozen=True, kw_only=True)
class StepContext:
    """The settings and folders of one build.

    `weights` is the folder of the checked weights, None where there are none; `seed` then seeds
    random ones. `scratch` is for files that no archive holds. `engines` has TensorRT's.
    """

    model_folder: Path
    weights: Path | None
    seed: int
    target: BuildTarget
    scratch: Path
    progress: Progress
    engines: Engines

    @property
    def release(self) -> platform_facts.Release:
        """The Triton release that is built for."""
        return platform_facts.release(self.target.release)

    @property
    def triton_python(self) -> str:
        """The Python version that models run in (`3.12`). Raises `BuildError` if not known."""
        python = self.target.python or self.release.python
        if python is None:
            raise BuildError(f"the Python version of Triton {self.release.name} is not known")
        return python


class RecipeStep(Strict):
    """A step that makes a file."""

    backend: ClassVar[str | None] = None
    """The backend that opens the file, None for a file that is no model."""
    writer: ClassVar[Writer | None] = None
    file_keys: ClassVar[tuple[str, ...]] = ("source",)
    """The keys that name files beside the recipe."""
    requirements_key: ClassVar[str | None] = None
    """The one of them that names a requirements file."""
    is_cacheable: ClassVar[bool] = True
    """Whether the file depends on nothing but the step, its files, weights and packages."""
    to: str

    def source_files(self) -> dict[str, str]:
        """Return the files beside the recipe that this step needs, by their keys."""
        return {key: getattr(self, key).partition(":")[0] for key in self.file_keys}

    def for_target(self, target: BuildTarget) -> "RecipeStep":
        """Return the step that serves on `target` what a recipe asks for."""
        del target
        return self

    def problems(self, file: str, model: Model) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield what does not fit the model of the file: keys below the step, and a message."""
        del file, model
        yield from ()

    def make(self, to: Path, context: StepContext) -> StepOutput:
        """Make the file or folder `to`. Raises `BuildError`, `GateFailed` among them."""
        raise NotImplementedError
