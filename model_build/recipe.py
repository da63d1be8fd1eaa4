"""The schema of `recipe.yaml`: the steps that generate files of a model repository."""

import shutil
from functools import reduce
from operator import or_
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from model_build.export.step import RecipeStep, StepContext, StepOutput
from model_build.export.weights import RandomWeights, Weights
from model_build.formats import BACKENDS, FORMATS
from model_build.recipe_values import FileName, InnerPath, Strict
from model_build.repository import VERSION_FOLDER
from model_build.target import BuildTarget
from platform_facts.rules import checked_yaml

FILE = "recipe.yaml"


class Copy(RecipeStep):
    """An unchanged weights file: one of the recipe's `weights`, or else a file in its folder."""

    file_keys: ClassVar[tuple[str, ...]] = ("weights",)
    is_cacheable: ClassVar[bool] = False
    to: Literal["copy"]
    weights: InnerPath

    def generate(self, output_path: Path, context: StepContext) -> StepOutput:
        """Copy the file."""
        shutil.copyfile((context.weights or context.model_folder) / self.weights, output_path)
        return StepOutput([])


if TYPE_CHECKING:
    AnyStep = RecipeStep
else:
    STEPS = (Copy, *(step for format_ in FORMATS for step in format_.steps))
    AnyStep = Annotated[reduce(or_, STEPS), Field(discriminator="to")]

Files = dict[str, AnyStep]
"""Steps by the path of the generated file in the model repository."""


def _check_version_files(files: Files) -> Files:
    for path in files:
        parts = PurePosixPath(path).parts
        outside = path.startswith("/") or ".." in parts
        if outside or len(parts) < 3 or not VERSION_FOLDER.fullmatch(parts[1]):
            raise ValueError(
                f"{path!r} is not the path of a version file: write MODEL/VERSION/FILE, "
                "for example encoder/1/model.onnx"
            )
    return files


VersionFiles = Annotated[Files, AfterValidator(_check_version_files)]
ALTERNATIVE_NAME = "[a-z0-9]+(-[a-z0-9]+)*"
AlternativeName = Annotated[str, Field(pattern=f"^{ALTERNATIVE_NAME}$")]


class Load(Strict):
    """The load of the archive into Triton, which a build does before it publishes it."""

    skip: Annotated[str, Field(min_length=10)]
    """The reason why the Triton of builds, on a CPU, cannot load the model."""


class Recipe(Strict):
    """A model folder's `recipe.yaml`."""

    description: str
    for_each: FileName | None = None
    """A table in the folder: each row is a model FOLDER-NAME (`model_build.table`)."""
    weights: Weights | None = None
    """The weights that the steps use, None if they need none."""
    load: Load | None = None
    """None if the archive is loaded."""
    files: VersionFiles = Field(default_factory=dict)
    alternatives: dict[AlternativeName, VersionFiles] = Field(default_factory=dict)
    """Other formats of the same model, by name: their files replace the model files in the same
    version folders. An alternative is a model called FOLDER-NAME."""

    @field_validator("alternatives")
    @classmethod
    def _alternatives_change_backends(cls, alternatives: dict[str, Files]) -> dict[str, Files]:
        for name, files in alternatives.items():
            if not any(step.backend for step in files.values()):
                raise ValueError(
                    f"{name} makes no model file: add a model file, or remove the alternative"
                )
        return alternatives

    @model_validator(mode="after")
    def _rows_have_no_alternatives(self) -> Self:
        if self.for_each and self.alternatives:
            message = "the rows of for_each are the alternatives: remove one of the two keys"
            raise checked_yaml.LocatedErrors([(("alternatives",), message)])
        return self

    @property
    def load_skip(self) -> str | None:
        """The reason why the archive is not loaded into Triton, None if it is."""
        return self.load.skip if self.load else None

    @property
    def seed(self) -> int:
        """The seed of random weights."""
        return self.weights.seed if isinstance(self.weights, RandomWeights) else 0

    def files_for(self, alternative: str | None) -> Files:
        """Return the files of the model itself, or of one of its alternatives."""
        if alternative is None:
            return self.files
        alternative_files = self.alternatives[alternative]
        replaced_folders = {
            PurePosixPath(path).parent for path, step in alternative_files.items() if step.backend
        }
        other_files = {
            path: step
            for path, step in self.files.items()
            if not (step.backend and PurePosixPath(path).parent in replaced_folders)
        }
        return {**other_files, **alternative_files}


def backends_by_directory(steps: Files) -> dict[str, str]:
    """Return the backends of the generated model files, by model directory."""
    return {path.partition("/")[0]: step.backend for path, step in steps.items() if step.backend}


def step_for_target(path: str, step: RecipeStep, target: BuildTarget) -> tuple[str, RecipeStep]:
    """Return the file and the step for `target`.

    For a target that cannot run a TensorRT plan or a GraphDef, the result is the ONNX file.
    """
    target_step = step.for_target(target)
    if target_step is not step and target_step.backend:
        path = str(PurePosixPath(path).with_name(BACKENDS[target_step.backend].file))
    return path, target_step
