"""Types of the values in a recipe."""

from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _check_inner_path(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or parts[0] == "/" or ".." in parts:
        raise ValueError(f"{path!r} leads out of its folder: write a path below it, without '..'")
    return path


def _check_file_name(name: str) -> str:
    if name in ("", ".", "..") or "/" in name:
        raise ValueError(f"{name!r} is not a file name: write the name without a folder")
    return name


Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
FileName = Annotated[str, AfterValidator(_check_file_name)]
InnerPath = Annotated[str, AfterValidator(_check_inner_path)]
Source = Annotated[str, Field(pattern=r"^[\w/-]+\.py:\w+$"), AfterValidator(_check_inner_path)]
"""A function `FILE.py:FUNCTION` in the recipe's folder."""


class Strict(BaseModel):
    """A section of a recipe; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Gate(Strict):
    """The maximum difference between a converted model's outputs and the original's."""

    max_absolute_difference: Annotated[float, Field(gt=0)]
