"""Models in the folders of `models/`."""

import difflib
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from model_build import recipe
from model_build.digest import compute_digest, is_ignored, model_files
from model_build.errors import ModelNotFound
from model_build.export.step import RecipeStep
from model_build.findings import Location
from model_build.formats import FORMATS
from model_build.recipe import Files, Recipe
from model_build.repository import CONFIG
from platform_facts.rules import checked_yaml

_MAX_LISTED = 8
"""Number of models that an error message lists: a repository may have hundreds."""
VERSION = re.compile("[1-9][0-9]*")
"""Names of version folders (server, docs/user_guide/model_repository.md, "Model Versions")."""
NOT_A_MODEL = "is not a model: it has no recipe.yaml, no config.pbtxt and no model file"


@dataclass(frozen=True)
class ModelSource:
    """The model of a folder, or an alternative of its recipe.

    A Triton model repository without a recipe is a model too: it is packed unchanged.
    """

    folder: Path
    alternative: str | None = None

    @property
    def name(self) -> str:
        """The model's name: FOLDER, or FOLDER-ALTERNATIVE."""
        name = self.folder.name  # of a link: the link's own name
        if name in ("", ".."):
            name = self.folder.resolve().name
        return f"{name}-{self.alternative}" if self.alternative else name

    @cached_property
    def recipe(self) -> Recipe:
        """The folder's recipe. Raises `checked_yaml.InvalidFile`."""
        if self.is_complete:
            return Recipe(description="A Triton model repository, packed as it is")
        return recipe.read(self.folder)

    @property
    def files(self) -> Files:
        """The steps that make the generated files."""
        return self.recipe.files_for(self.alternative)

    @cached_property
    def digest(self) -> str:
        """The digest of the model's source, 64 hex digits."""
        return compute_digest(self.folder, alternative=self.alternative)

    @property
    def is_complete(self) -> bool:
        """Whether the folder is a complete model repository, without a recipe."""
        return not (self.folder / recipe.FILE).is_file()

    def steps(self) -> Iterator[tuple[tuple[str, ...], str, RecipeStep]]:
        """Yield the recipe's steps: parent keys in the recipe, generated file, step."""
        alternative_files = (
            {} if self.alternative is None else self.recipe.alternatives[self.alternative]
        )
        for keys, files in (
            (("files",), self.recipe.files),
            (("alternatives", str(self.alternative)), alternative_files),
        ):
            yield from ((keys, file, step) for file, step in files.items())


def is_model(folder: Path) -> bool:
    """Return whether a folder has a recipe, or the files of a model, perhaps in wrong places."""
    files = (recipe.FILE, CONFIG, f"*/{CONFIG}", f"*/*/{CONFIG}")
    return any(any(folder.glob(file)) for file in files) or any(unconfigured_files(folder))


def contains_models(folder: Path) -> bool:
    """Return whether the folders in a folder are models."""
    files = (f"*/{recipe.FILE}", f"*/*/{CONFIG}")
    is_recipe = (folder / recipe.FILE).is_file()
    return not is_recipe and any(any(folder.glob(file)) for file in files)


def unconfigured_files(folder: Path) -> Iterator[Path]:
    """Yield the model files of a folder that are in no model directory with a config.pbtxt.

    Files beside a recipe are what its steps read.
    """
    names = {name for format_ in FORMATS for name in (format_.file, *format_.other_files.values())}
    has_recipe = (folder / recipe.FILE).is_file()
    for path in model_files(folder):
        relative = path.relative_to(folder)
        in_version = len(relative.parts) == 3 and VERSION.fullmatch(path.parent.name)
        if len(relative.parts) > 3 or (has_recipe and not in_version):
            continue
        is_model_file = path.name in names or path.suffix in (".onnx", ".pt")
        has_config = any((folder / parent / CONFIG).is_file() for parent in relative.parents)
        if is_model_file and not has_config:
            yield path


def find_model(models: Path, name: str) -> ModelSource:
    """Return the model called `name` among the folders in `models`. Raises `ModelNotFound`."""
    if is_model(models / name):
        return ModelSource(models / name)
    for model in all_models(models):
        if model.name == name:
            return model
    if (models / name).is_dir():
        raise ModelNotFound(f"{Location(models / name)} {NOT_A_MODEL}")
    names = sorted(model.name for model in all_models(models))
    similar_names = difflib.get_close_matches(name, names, n=1)
    suggestion = f"did you mean {similar_names[0]}? " if similar_names else ""
    listed_names = ", ".join(names[:_MAX_LISTED]) or "none"
    remainder = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    raise ModelNotFound(
        f"no model {name!r} in {Location(models)}: {suggestion}models are {listed_names}{remainder}"
    )


def all_models(models: Path) -> Iterator[ModelSource]:
    """Yield the models of the folders in `models`, with their alternatives.

    A model whose recipe is invalid has none: its checks report the recipe.
    """
    for folder in filter(is_model, folders_in(models)):
        model = ModelSource(folder)
        yield model
        with suppress(checked_yaml.InvalidFile):
            yield from (ModelSource(folder, name) for name in model.recipe.alternatives)


def folders_in(models: Path) -> list[Path]:
    """Return the folders in `models`, which are models or mistaken for them."""
    folders = filter(Path.is_dir, sorted(models.iterdir()))
    return [folder for folder in folders if not is_ignored(Path(folder.name))]
