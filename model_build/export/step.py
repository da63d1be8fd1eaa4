"""The base class of recipe steps, and the context in which they run."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import platform_facts
from model_build.engines.provider import Engines
from model_build.export.gate import GateReport
from model_build.gpu_step.result import JobResult
from model_build.progress import Progress
from model_build.recipe_values import Strict
from model_build.repository import Model
from model_build.target import BuildTarget

GateReports = list[tuple[str, GateReport]]
"""The report of each gate, after the names of the compared models, such as `ONNX and PyTorch`."""


class StepOutput(NamedTuple):
    """The reports of a step's gates, and the result of the job that built a TensorRT engine."""

    gates: GateReports
    engine_job: JobResult | None = None


class Writer(NamedTuple):
    """The library that writes a file in the build; Triton reads the file with the same library.

    `name` is the field of `platform_facts.Release` that has the library's version in Triton.
    `packages` is a pattern of its package names on PyPI.
    """

    name: str
    packages: str


@dataclass(frozen=True, kw_only=True)
class StepContext:
    """The settings and folders of a build.

    `weights` is the folder of the verified weights, or None; `seed` is the seed of random weights.
    `scratch` is a folder for temporary files. `engines` provides TensorRT engines.
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
        """The target's Triton release."""
        return platform_facts.release(self.target.release)

    @property
    def python_version(self) -> str:
        """The Python version that runs models (`3.12`)."""
        return self.target.python or self.release.python


class RecipeStep(Strict):
    """A step that generates a file."""

    backend: ClassVar[str | None] = None
    """The backend that opens the file, None if the file is not a model."""
    writer: ClassVar[Writer | None] = None
    file_keys: ClassVar[tuple[str, ...]] = ("source",)
    """The keys whose values are files in the recipe's folder."""
    requirements_key: ClassVar[str | None] = None
    """The file key whose value is a requirements file."""
    is_cacheable: ClassVar[bool] = True
    """Whether the output depends only on the step, its files, weights and packages."""
    to: str
    """The file's format."""

    def source_files(self) -> dict[str, str]:
        """Return the files in the recipe's folder that this step needs, by key."""
        return {key: getattr(self, key).partition(":")[0] for key in self.file_keys}

    def for_target(self, target: BuildTarget) -> "RecipeStep":
        """Return the step to use for `target`."""
        del target
        return self

    def problems(self, file: str, model: Model) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield conflicts with `model`, which has the file: the path of a key, and a message.

        The path starts at this step.
        """
        del file, model
        yield from ()

    def generate(self, output_path: Path, context: StepContext) -> StepOutput:
        """Write the file or folder `output_path`. Raise `BuildError`."""
        raise NotImplementedError
