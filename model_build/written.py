"""A model's folder as people wrote it."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from model_build import checks, digest, recipe
from model_build.errors import RepositoryInvalid
from model_build.recipe import Copy, Onnx, PythonPackages, Recipe, Step, TorchScript
from model_build.repository import Repository


def read(model_folder: Path) -> tuple[Recipe, Repository]:
    """Return the recipe and the hand-written part of the repository, if a build can use them.

    Raises `checked_yaml.InvalidFile` or `RepositoryInvalid`, each with every finding at its file.
    """
    if not (model_folder / "recipe.yaml").is_file():
        known = ", ".join(
            sorted(it.parent.name for it in model_folder.parent.glob("*/recipe.yaml"))
        )
        raise RepositoryInvalid(
            f"no model {model_folder.name!r}: {model_folder} has no recipe.yaml; models are "
            f"{known or 'none'}"
        )
    planned = recipe.read(model_folder)
    repository = Repository.read(model_folder)
    checks.check(repository, (_no_links, *checks.WRITTEN, partial(_recipe_meets_files, planned)))
    return planned, repository


def _no_links(repository: Repository) -> Iterator[str]:
    """A link's target may change, or lie outside, without the digest seeing it."""
    for path in sorted(repository.folder.rglob("*")):
        if path.is_symlink() and not digest.is_ignored(path.relative_to(repository.folder)):
            yield f"{path} is a symbolic link: put the file itself there"


def _recipe_meets_files(planned: Recipe, repository: Repository) -> Iterator[str]:
    """A recipe's files go into model directories, and are made of what is there."""
    path = repository.named("recipe.yaml")
    for file, step in planned.files.items():
        directory = file.partition("/")[0]
        if directory not in repository.configs:
            known = ", ".join(sorted(repository.configs)) or "none"
            yield f"{path}: files.{file}: {directory} is no model directory; there are: {known}"
        if missing := _missing_source(step, planned, repository.folder):
            yield f"{path}: files.{file}: {missing}"


def _missing_source(step: Step, planned: Recipe, folder: Path) -> str | None:
    match step:
        case Copy(weights=name) if planned.weights:
            if name not in planned.weights.files:
                known = ", ".join(sorted(planned.weights.files))
                return f"{name} is none of the recipe's weights: write one of {known}"
            return None
        case Copy(weights=file):
            key = "weights"
        case PythonPackages(requirements=file):
            key = "requirements"
        case Onnx(source=source) | TorchScript(source=source):
            key, file = "source", source.partition(":")[0]
    if not (folder / file).is_file():
        return f"{key} {file} does not exist: add it beside the recipe, or write another path"
    return None
