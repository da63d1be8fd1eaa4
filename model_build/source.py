"""Models in the folders of `models/`."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from model_build import recipe
from model_build.digest import compute_digest
from model_build.errors import ModelNotFound
from model_build.export.step import RecipeStep
from model_build.findings import Location
from model_build.recipe import Files, Recipe
from model_build.repository import CONFIG

_MAX_LISTED = 8
"""Number of models that an error message lists: a repository may have hundreds."""


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
    """Return whether a folder has a recipe or is a Triton model repository."""
    return (folder / recipe.FILE).is_file() or any(folder.glob(f"*/{CONFIG}"))


def find_model(models: Path, name: str) -> ModelSource:
    """Return the model called `name` among the folders in `models`. Raises `ModelNotFound`."""
    if is_model(models / name):
        return ModelSource(models / name)
    for model in all_models(models):
        if model.name == name:
            return model
    names = sorted(model.name for model in all_models(models))
    similar_names = difflib.get_close_matches(name, names, n=1)
    suggestion = f"did you mean {similar_names[0]}? " if similar_names else ""
    listed_names = ", ".join(names[:_MAX_LISTED]) or "none"
    remainder = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    raise ModelNotFound(
        f"no model {name!r} in {Location(models)}: {suggestion}models are {listed_names}{remainder}"
    )


def all_models(models: Path) -> Iterator[ModelSource]:
    """Yield the models of the folders in `models`, with their alternatives."""
    for folder in sorted(models.iterdir()):
        if folder.is_dir() and is_model(folder):
            model = ModelSource(folder)
            yield model
            yield from (ModelSource(folder, name) for name in model.recipe.alternatives)
