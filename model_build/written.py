"""A model's folder as people wrote it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import checked_yaml
from model_build import checks, recipe
from model_build.checks.engine_profiles import engine_profiles
from model_build.digest import digest_of
from model_build.errors import BuildError
from model_build.findings import Finding, Place
from model_build.recipe import (
    Copy,
    Dali,
    Files,
    GraphDef,
    PythonPackages,
    RandomWeights,
    Recipe,
    Step,
    TensorFlowOnnx,
)
from model_build.repository import CONFIG, Repository


@dataclass(frozen=True)
class WrittenModel:
    """One model that a folder offers: the folder's own, or one of its recipe's alternatives.

    A Triton model repository without a recipe is a model too: it is packed as it is.
    """

    folder: Path
    alternative: str | None = None

    @property
    def name(self) -> str:
        """The model's name: the folder's, and the alternative's behind a hyphen."""
        name = self.folder.resolve().name
        return f"{name}-{self.alternative}" if self.alternative else name

    @cached_property
    def recipe(self) -> Recipe:
        """The folder's recipe. Raises `checked_yaml.InvalidFile`."""
        if not (self.folder / recipe.FILE).is_file():
            return Recipe(description="A Triton model repository, packed as it is")
        return recipe.read(self.folder)

    @property
    def files(self) -> Files:
        """How the files that nobody wrote are made."""
        return self.recipe.files_of(self.alternative)

    @cached_property
    def digest(self) -> str:
        """The digest that names the model's archives, 64 hex digits."""
        return digest_of(self.folder, alternative=self.alternative)

    def read(self) -> Repository:
        """Return the hand-written part of the repository, if a build can use it.

        Raises `checked_yaml.InvalidFile` or `RepositoryInvalid`, with every finding at its file.
        """
        repository = Repository.read(self.folder)
        checks.check(repository, self._rules())
        return repository

    def lint(self) -> list[Finding]:
        """Return every finding. Raises like `read` for files that do not parse."""
        return checks.findings(Repository.read(self.folder), self._rules())

    def _rules(self) -> tuple[checks.Rule, ...]:
        complete = not (self.folder / recipe.FILE).is_file()
        if complete:
            return checks.BUILT
        return (*checks.WRITTEN, partial(recipe_meets_files, self), partial(engine_profiles, self))

    def steps(self) -> Iterator[tuple[tuple[str, ...], str, Step]]:
        """Yield the recipe's steps: the keys that lead to their files, the file, the step."""
        own = {} if self.alternative is None else self.recipe.alternatives[self.alternative]
        for keys, files in (
            (("files",), self.recipe.files),
            (("alternatives", str(self.alternative)), own),
        ):
            yield from ((keys, file, step) for file, step in files.items())


def is_model(folder: Path) -> bool:
    """Whether a folder is a model: it has a recipe, or is a Triton model repository."""
    return (folder / recipe.FILE).is_file() or any(folder.glob(f"*/{CONFIG}"))


def find(models: Path, name: str) -> WrittenModel:
    """Return the model called `name` among the folders in `models`. Raises `BuildError`."""
    if is_model(models / name):
        return WrittenModel(models / name)
    for model in all_models(models):
        if model.name == name:
            return model
    known = ", ".join(sorted(model.name for model in all_models(models))) or "none"
    raise BuildError(f"no model {name!r} in {models}; models are {known}")


def all_models(models: Path) -> Iterator[WrittenModel]:
    """Yield every model that the folders in `models` offer."""
    for folder in sorted(models.iterdir()):
        if folder.is_dir() and is_model(folder):
            model = WrittenModel(folder)
            yield model
            yield from (WrittenModel(folder, name) for name in model.recipe.alternatives)


def recipe_meets_files(model: WrittenModel, repository: Repository) -> Iterator[tuple[Place, str]]:
    """A recipe's files go into model directories, for their backends, made of what is there."""
    for keys, file, step in model.steps():
        line = checked_yaml.line_of(model.folder / recipe.FILE, *keys, file)
        place = Place(repository.file(recipe.FILE).path, line)
        directory = file.partition("/")[0]
        if directory not in repository.models:
            known = ", ".join(sorted(repository.models)) or "none"
            yield place, f"{file}: {directory} is no model directory; there are: {known}"
        elif keys == ("files",) and step.backend:  # an alternative brings its own backend
            backend = repository.models[directory].backend
            if backend != step.backend:
                yield (
                    place,
                    f"{file}: `to: {step.to}` makes a file for the {step.backend} backend, "
                    f"{directory}/{CONFIG} names {backend}",
                )
        if missing := _missing_source(step, model.recipe, model.folder):
            yield place, f"{file}: {missing}"


def _missing_source(step: Step, planned: Recipe, folder: Path) -> str | None:
    for key, file in _sources(step, planned):
        if not (folder / file).is_file():
            return f"{key} {file} does not exist: add it beside the recipe, or write another path"
    if isinstance(step, Copy) and _has_files(planned):
        assert planned.weights is not None
        assert not isinstance(planned.weights, RandomWeights)
        if step.weights not in planned.weights.files:
            known = ", ".join(sorted(planned.weights.files))
            return f"{step.weights} is none of the recipe's weights: write one of {known}"
    return None


def _sources(step: Step, planned: Recipe) -> list[tuple[str, str]]:
    """The files beside the recipe that a step is made of, each with its key."""
    match step:
        case Copy():
            return [] if _has_files(planned) else [("weights", step.weights)]
        case PythonPackages():
            return [("requirements", step.requirements)]
        case TensorFlowOnnx() | GraphDef() | Dali():
            return [
                ("source", step.source.partition(":")[0]),
                ("environment", step.environment),
            ]
    return [("source", step.source.partition(":")[0])]


def _has_files(planned: Recipe) -> bool:
    return planned.weights is not None and not isinstance(planned.weights, RandomWeights)
