"""A recipe's files have a place and an origin."""

from collections.abc import Iterator
from pathlib import Path

import checked_yaml
from model_build.export.python_packages import FINDER
from model_build.findings import Place
from model_build.python_imports import PACKAGES
from model_build.recipe import FILE, Copy, PythonPackages, RandomWeights, Recipe, Step
from model_build.repository import CONFIG, Repository
from model_build.source import ModelSource


def recipe_meets_files(source: ModelSource, repository: Repository) -> Iterator[tuple[Place, str]]:
    """A recipe's files go into model directories, for their backends, made of what is there."""
    for keys, file, step in source.steps():
        line = checked_yaml.line_of(source.folder / FILE, *keys, file)
        place = Place(repository.file(FILE).path, line)
        directory = file.partition("/")[0]
        if directory not in repository.models:
            known = ", ".join(sorted(repository.models)) or "none"
            yield place, f"{file}: {directory} is not a model directory; there are: {known}"
        elif keys == ("files",) and step.backend:  # an alternative brings its own backend
            backend = repository.models[directory].backend
            if backend != step.backend:
                yield (
                    place,
                    f"{file}: `to: {step.to}` makes a file for the {step.backend} backend, "
                    f"{directory}/{CONFIG} names {backend}",
                )
        if isinstance(step, PythonPackages):
            yield from ((place, f"{file}: {it}") for it in _misplaced(file, repository))
        if missing := _missing_source(step, source.recipe, source.folder):
            yield place, f"{file}: {missing}"


def _misplaced(file: str, repository: Repository) -> Iterator[str]:
    """Say what keeps a model from finding its packages."""
    version, _, name = file.rpartition("/")
    if name != PACKAGES:
        yield f"packages are found in {version}/{PACKAGES}: write that"
    if (repository.folder / version / FINDER).exists():
        yield f"{version}/{FINDER} is what the build writes to find them: move its code to model.py"


def _missing_source(step: Step, planned: Recipe, folder: Path) -> str | None:
    weights = planned.weights
    if isinstance(step, Copy) and weights is not None and not isinstance(weights, RandomWeights):
        if step.weights in weights.files:
            return None
        known = ", ".join(sorted(weights.files))
        return f"{step.weights} is none of the recipe's weights: write one of {known}"
    for key, file in step.files_beside().items():
        if not (folder / file).is_file():
            return f"{key} {file} does not exist: add it beside the recipe, or write another path"
    return None
