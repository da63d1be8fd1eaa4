"""Models in the folders of `models/`."""

import difflib
import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from model_build import digest, recipe
from model_build.digest import compute_digest, is_ignored, model_files
from model_build.errors import ModelNotFound
from model_build.export.step import RecipeStep
from model_build.export.weights import FolderWeights, RandomWeights
from model_build.findings import Finding, Location
from model_build.formats import FORMATS
from model_build.recipe import Copy, Files, Recipe
from model_build.repository import CONFIG, VERSION_FOLDER, Repository
from model_build.table import KEY, RecipeTable
from plan import golden
from platform_facts.rules.checked_yaml import InvalidFile, YamlFile

_MAX_LISTED = 8
"""Number of models that an error message lists: a repository may have hundreds."""
NOT_A_MODEL = "is not a model: it has no recipe.yaml, no config.pbtxt and no model file"


class ModelFolder:
    """A folder in `models/`. What is read from it is read once, and shared by its models."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checked = dict[str, list[Finding]]()
        """The findings of a source, by the `code` of a model (`model_build.checks`)."""
        self.checked_models = dict[str, Any]()
        """One `CheckedModel` of each `code`."""
        self.secrets: list[Finding] | None = None
        self._models = dict[str | None, ModelSource]()
        self._lines = dict[Path, bytes]()

    @cached_property
    def recipe_file(self) -> YamlFile | None:
        """The recipe, None of a complete model repository. Raise `InvalidFile`."""
        path = self.path / recipe.FILE
        return YamlFile.read(path, path.read_bytes()) if path.is_file() else None

    @cached_property
    def table(self) -> RecipeTable | None:
        """The table whose rows are the models, None if it has none. Raise `InvalidFile`."""
        return RecipeTable.read(self.recipe_file) if self.recipe_file else None

    @cached_property
    def recipe(self) -> Recipe:
        """The recipe of a folder without a table. Raise `InvalidFile`."""
        if self.recipe_file is None:
            return Recipe(description="A Triton model repository, packed as it is")
        if self.table:
            name = self.model(next(iter(self.table.rows))).name
            message = f"a table has no model of its own: write the name of a row, such as {name}"
            raise InvalidFile([self.recipe_file.problem((KEY,), message)])
        return self.recipe_file.validate(Recipe)

    @cached_property
    def repository(self) -> Repository:
        """The configurations in the folder. Raise `RepositoryInvalid`."""
        return Repository.read(self.path)

    @property
    def alternatives(self) -> Collection[str]:
        """The names of the rows, or of the recipe's alternatives. Raise `InvalidFile`."""
        return self.table.rows if self.table else self.recipe.alternatives

    def model(self, alternative: str | None = None) -> "ModelSource":
        """Return the model of the folder, an alternative, or a row."""
        if alternative not in self._models:
            self._models[alternative] = ModelSource(self.path, alternative, self)
        return self._models[alternative]

    def models(self) -> Iterator["ModelSource"]:
        """Yield all models of the folder. Raise `InvalidFile`."""
        if not self.table:
            yield self.model()
        yield from map(self.model, self.alternatives)

    @cached_property
    def files(self) -> list[Path]:
        """The files of all models."""
        return list(digest.model_files(self.path))

    @cached_property
    def file_set(self) -> frozenset[Path]:
        """The files of all models."""
        return frozenset(self.files)

    @cached_property
    def shared_files(self) -> list[Path]:
        """The files of every row: those that no row names.

        Other files beside the copied data of rows are in no model, such as those of a row that was
        removed.
        """
        if self.table is None:
            return self.files
        rows = list(self.models())
        named = {path for row in rows for path in row.named_files}
        model_folders = {path.parent for path in self.path.glob(f"*/{CONFIG}")}
        copied = {name.rpartition("/")[0] for row in rows for name in self._copied_files(row)}
        data_folders = {self.path / name for name in copied if name}
        named.add(self.table.path)
        return [
            path
            for path in self.files
            if path not in named
            and (path.parent not in data_folders or model_folders.intersection(path.parents))
        ]

    @cached_property
    def source_files(self) -> list[Path]:
        """The files that builds get: also the golden file, which is part of no model's digest."""
        file = self.path / golden.FILE
        return [*self.files, *([file] if file.is_file() else [])]

    @cached_property
    def digest(self) -> str:
        """The digest of `source_files`, 64 hex digits."""
        return self._digest(self.source_files).hexdigest()

    @cached_property
    def size(self) -> int:
        """The bytes of `source_files`."""
        return sum(path.stat().st_size for path in self.source_files)

    def row_digest(self, row: "ModelSource") -> str:
        """Return the digest of the files of a row, and of its values that the recipe uses."""
        if self.table is None or row.alternative is None:
            raise ValueError(f"{row.name} is not a row")
        lines = self._shared_digest.copy()
        lines.update(f"alternative {row.alternative}\n".encode())
        for path in row.named_files:
            lines.update(self._line(path))
        values = self.table.rows[row.alternative].values
        for column in self.table.columns:
            lines.update(f"column {column} {json.dumps(values[column])}\n".encode())
        return lines.hexdigest()

    def _copied_files(self, row: "ModelSource") -> Iterator[str]:
        """Yield the files that are data of one row, by their paths in the folder."""
        placeholders = self.table.placeholders if self.table else {}
        for path, step in row.files.items():
            if isinstance(step, Copy) and f"files.{path}.weights" in placeholders:
                yield step.weights
        if isinstance(weights := row.recipe.weights, FolderWeights):
            yield from weights.paths

    @cached_property
    def _shared_digest(self) -> "hashlib._Hash":
        return self._digest(self.shared_files)

    def _digest(self, files: Iterable[Path]) -> "hashlib._Hash":
        lines = digest.empty_digest()
        for path in files:
            lines.update(self._line(path))
        return lines

    def _line(self, path: Path) -> bytes:
        if path not in self._lines:
            self._lines[path] = digest.file_line(self.path, path)
        return self._lines[path]


@dataclass(frozen=True)
class ModelSource:
    """The model of a folder, an alternative of its recipe, or a row of its table.

    A Triton model repository without a recipe is a model too: it is packed unchanged. `shared` is
    what the models of the folder share.
    """

    folder: Path
    alternative: str | None
    shared: ModelFolder = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """The model's name: FOLDER, or FOLDER-ALTERNATIVE."""
        name = self.folder.name  # of a link: the link's own name
        if name in ("", ".."):
            name = self.folder.resolve().name
        return f"{name}-{self.alternative}" if self.alternative else name

    @cached_property
    def recipe(self) -> Recipe:
        """The folder's recipe, or that of the row. Raise `InvalidFile`."""
        if self.alternative and self.shared.table:
            return self.shared.table.recipe(self.alternative)
        return self.shared.recipe

    @property
    def is_table(self) -> bool:
        """Whether the folder has a table, and no row is named. Raise `InvalidFile`."""
        return self.alternative is None and self.shared.table is not None

    @property
    def is_row(self) -> bool:
        """Whether the model is a row of a table. Raise `InvalidFile`."""
        return bool(self.alternative and self.shared.table)

    @property
    def files(self) -> Files:
        """The steps that make the generated files."""
        return self.recipe.files_for(None if self.is_row else self.alternative)

    @cached_property
    def digest(self) -> str:
        """The digest of the model's source, 64 hex digits."""
        if self.is_row:
            return self.shared.row_digest(self)
        return compute_digest(self.folder, alternative=self.alternative)

    @cached_property
    def code(self) -> str:
        """A text that is equal for models of a folder that differ only in copied files and weights.

        The linter checks each distinct code of a table once.
        """
        if not self.is_row:
            return self.alternative or ""
        steps = {path: step for path, step in self.files.items() if not isinstance(step, Copy)}
        dumped = {path: step.model_dump(mode="json") for path, step in steps.items()}
        return json.dumps([self.recipe.load_skip, dumped])

    @property
    def is_complete(self) -> bool:
        """Whether the folder is a complete model repository, without a recipe."""
        return not (self.folder / recipe.FILE).is_file()

    @cached_property
    def named_files(self) -> list[Path]:
        """The existing files of the folder that the recipe names, sorted."""
        weights = self.recipe.weights
        is_pinned = weights is not None and not isinstance(weights, RandomWeights)
        names = {
            name
            for step in self.files.values()
            if not (is_pinned and isinstance(step, Copy))
            for name in step.source_files().values()
        }
        if isinstance(weights, FolderWeights):
            names.update(weights.paths)
        inner_names = (name for name in names if not {"", ".."}.intersection(name.split("/")))
        paths = (self.folder / name for name in sorted(inner_names))
        return [path for path in paths if path in self.shared.file_set]

    @property
    def covered_files(self) -> list[Path]:
        """The files that the digest covers."""
        if not self.is_row:
            return self.shared.files
        return sorted({*self.shared.shared_files, *self.named_files})

    def steps(self) -> Iterator[tuple[tuple[str, ...], str, RecipeStep]]:
        """Yield the recipe's steps: parent keys in the recipe, generated file, step."""
        alternative_files = (
            {}
            if self.alternative is None or self.is_row
            else self.recipe.alternatives[self.alternative]
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
        if path.name not in names and path.suffix not in (".onnx", ".pt"):
            continue
        relative = path.relative_to(folder)
        in_version = len(relative.parts) == 3 and VERSION_FOLDER.fullmatch(path.parent.name)
        if len(relative.parts) > 3 or (has_recipe and not in_version):
            continue
        has_config = any((folder / parent / CONFIG).is_file() for parent in relative.parents)
        if not has_config:
            yield path


class Models:
    """The models in the folders of a folder, each of which is read once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folders = dict[str, ModelFolder]()

    def folder(self, name: str) -> ModelFolder:
        """Return a folder."""
        return self._folders.setdefault(name, ModelFolder(self.path / name))

    def rows(self, name: str) -> list[ModelSource]:
        """Return the rows of a folder's table, empty if it has none. Raise `InvalidFile`."""
        folder = self.folder(name)
        return list(folder.models()) if folder.table else []

    def find(self, name: str) -> ModelSource:
        """Return the model called `name`. Raise `ModelNotFound`, and `InvalidFile`."""
        folder, alternative, invalid = name, "", None
        while folder:
            if is_model(self.path / folder):
                if not alternative:
                    return self.folder(folder).model()
                try:
                    if alternative in self.folder(folder).alternatives:
                        return self.folder(folder).model(alternative)
                except InvalidFile as error:  # another folder may have the model
                    invalid = error
            folder = folder.rpartition("-")[0]
            alternative = name[len(folder) + 1 :]
        if invalid:
            raise invalid
        if (self.path / name).is_dir():
            raise ModelNotFound(f"{Location(self.path / name)} {NOT_A_MODEL}")
        names = sorted(model.name for model in self)
        similar_names = difflib.get_close_matches(name, names, n=1)
        suggestion = f"did you mean {similar_names[0]}? " if similar_names else ""
        listed_names = ", ".join(names[:_MAX_LISTED]) or "none"
        remainder = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
        raise ModelNotFound(
            f"no model {name!r} in {Location(self.path)}: {suggestion}models are "
            f"{listed_names}{remainder}"
        )

    def __iter__(self) -> Iterator[ModelSource]:
        """Yield all models, with alternatives and rows.

        A folder with an invalid recipe or table is one model: its checks report the problem.
        """
        for path in filter(is_model, folders_in(self.path)):
            folder = self.folder(path.name)
            try:
                yield from list(folder.models())
            except InvalidFile:
                yield folder.model()


def find_model(models: Path, name: str) -> ModelSource:
    """Return the model called `name` among the folders in `models`. Raise `ModelNotFound`."""
    return Models(models).find(name)


def all_models(models: Path) -> Iterator[ModelSource]:
    """Yield the models of the folders in `models`, as `Models` does."""
    return iter(Models(models))


def folders_in(models: Path) -> list[Path]:
    """Return the folders in `models`, which are models or mistaken for them."""
    folders = filter(Path.is_dir, sorted(models.iterdir()))
    return [folder for folder in folders if not is_ignored(Path(folder.name))]
