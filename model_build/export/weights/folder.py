"""Weights in a folder of the building machine."""

import shutil
from pathlib import Path

from model_build.errors import BuildError
from model_build.recipe import FolderWeights


def copy_from_folder(weights: FolderWeights, folder: Path, to: Path) -> None:
    """Copy the named files out of `folder`."""
    for name in weights.files:
        if not (folder / name).is_file():
            raise BuildError(
                f"{folder / name} does not exist: the recipe takes its weights from there. "
                "CodeBuild has the model's folder alone: put them below it, or into S3"
            )
        shutil.copyfile(folder / name, to / name)
