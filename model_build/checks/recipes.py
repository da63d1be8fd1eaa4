"""Rules that compare a recipe's steps with the source files."""

import re

from model_build.export.pip import missing_hashes
from model_build.export.step import RecipeStep
from model_build.export.weights import RandomWeights
from model_build.findings import Location, Problems, warning
from model_build.formats.python import PythonPackages
from model_build.formats.python.imports import PYPI_NAMES, missing_imports
from model_build.formats.tensorrt import TensorRt
from model_build.recipe import FILE, Copy
from model_build.repository import CONFIG, Repository
from model_build.source import ModelSource
from platform_facts.rules import checked_yaml
from platform_facts.rules.engines import lengths_above_engines

_OTHER_PACKAGES = {"PIL": "pillow(-simd)?", "cv2": "opencv-.*"}
"""Patterns of further packages that have a module."""


def recipe_matches_files(source: ModelSource, repository: Repository) -> Problems:
    """A recipe's files are in model directories, fit their backends, and have existing sources."""

    def location(*keys: str) -> Location:
        return Location(
            repository.file_location(FILE).path, checked_yaml.line_of(source.folder / FILE, *keys)
        )

    for keys, file, step in source.steps():
        directory = file.partition("/")[0]
        model = repository.models.get(directory)
        if model is None:
            names = ", ".join(sorted(repository.models)) or "none"
            yield (
                location(*keys, file),
                f"{file}: {directory} is not a model directory; there are: {names}",
            )
        else:
            if keys == ("files",) and step.backend not in (None, model.backend):
                yield (  # an alternative brings its own backend
                    location(*keys, file),
                    f"{file}: `to: {step.to}` makes a file for the {step.backend} backend, "
                    f"{directory}/{CONFIG} names {model.backend}",
                )
            for step_keys, message in step.problems(file, model):
                yield location(*keys, file, *step_keys), f"{file}: {message}"


def recipe_sources(source: ModelSource, repository: Repository) -> Problems:
    """The files that a recipe names exist. For a row of a table, the line is that of the row."""
    del repository  # its findings show the paths of the source
    table, row = source.shared.table, str(source.alternative)
    for keys, file, step in source.steps():
        if missing := _missing_source(step, source):
            if table and any(key.startswith(f"files.{file}.") for key in table.placeholders):
                location = Location(table.path, table.rows[row].line)
            else:
                line = checked_yaml.line_of(source.folder / FILE, *keys, file)
                location = Location(source.folder / FILE, line)
            yield location, f"{file}: {missing}"


@warning
def row_data_in_folders(source: ModelSource, repository: Repository) -> Problems:
    """The copied data of rows is in a folder, not beside the recipe.

    Beside the recipe, a file that no row names, such as that of a row that was removed, is a file
    of all rows: each of them is built again.
    """
    table = source.shared.table
    for keys, file, step in source.steps():
        is_data = table and f"files.{file}.weights" in table.placeholders
        if is_data and isinstance(step, Copy) and "/" not in step.weights:
            line = checked_yaml.line_of(source.folder / FILE, *keys, file)
            yield (
                Location(repository.file_location(FILE).path, line),
                f"{file}: the data of rows is beside the recipe, so that all rows are built again "
                "when a row is removed: move it into a folder, such as weights/",
            )


@warning
def engine_lengths(source: ModelSource, repository: Repository) -> Problems:
    """A parameter with a maximum length is at most that of the engines of the archive."""
    shapes = [
        (shape.min, shape.max)
        for _, _, step in source.steps()
        if isinstance(step, TensorRt)
        for profile in step.engine.profiles
        for shape in profile.values()
    ]
    for model in repository.models.values():
        parameters = {
            name: parameter.string_value for name, parameter in model.config.parameters.items()
        }
        for name, value, longest in lengths_above_engines(shapes, parameters):
            yield (
                model.field_location("parameters", name),
                f"{name} is {value}, and the engine of this archive takes lengths up to "
                f"{longest}: lower it, or raise max in the profiles of {FILE}",
            )


@warning
def engine_batches(source: ModelSource, repository: Repository) -> Problems:
    """A preferred batch size is `opt` of a profile, the size for which TensorRT tunes the engine.

    Source: TensorRT documentation, working with dynamic shapes.
    """
    for _, file, step in source.steps():
        model = repository.models.get(file.partition("/")[0])
        if model is None or not isinstance(step, TensorRt):
            continue
        shapes = [shape for profile in step.engine.profiles for shape in profile.values()]
        tuned = sorted({size for shape in shapes for size in shape.opt[:1]})
        for index, size in enumerate(model.config.dynamic_batching.preferred_batch_size):
            if size not in tuned:
                yield (
                    model.field_location("dynamic_batching", "preferred_batch_size", index),
                    f"preferred batch size {size}: the engine of {file} is tuned for batches of "
                    f"{', '.join(map(str, tuned))}: write one of them, or add a profile to {FILE}",
                )


def _missing_source(step: RecipeStep, source: ModelSource) -> str | None:
    weights = source.recipe.weights
    if isinstance(step, Copy) and weights is not None and not isinstance(weights, RandomWeights):
        if step.weights in weights.files:
            return None
        names = ", ".join(sorted(weights.files))
        return f"{step.weights} is not one of the recipe's weights: write one of {names}"
    for key, file in step.source_files().items():
        if not (source.folder / file).is_file():
            return f"{key} {file} does not exist: add it beside the recipe, or write another path"
    return None


def recipe_imports(source: ModelSource, repository: Repository) -> Problems:
    """A Python model imports only modules that exist at run time (see `python_imports`).

    For a model with a `python-packages` step, only modules with a known package are checked.
    """
    packages_by_model: dict[str, set[str]] = {}
    for _, file, step in source.steps():
        if isinstance(step, PythonPackages):
            requirements = source.folder / step.requirements
            if requirements.is_file():
                text = requirements.read_text(encoding="utf-8")
                names = set(re.findall(r"^([A-Za-z0-9][\w.-]*)", text, re.M))
                packages_by_model.setdefault(file.partition("/")[0], set()).update(names)
    for name, model in repository.models.items():
        for imported, location, message in missing_imports(model):
            known = PYPI_NAMES.get(imported.module)
            pattern = _OTHER_PACKAGES.get(imported.module, rf"{known}([-_.].*)?")
            packages = packages_by_model.get(name, ())
            may_be_installed = name in packages_by_model and (
                known is None or any(re.fullmatch(pattern, p, re.IGNORECASE) for p in packages)
            )
            if not may_be_installed:
                yield location, message


def hashed_packages(source: ModelSource, repository: Repository) -> Problems:
    """Every requirement of a step has a hash: builds install no packages without one."""
    del repository  # requirements are beside the recipe
    steps = (step for _, _, step in source.steps() if step.requirements_key)
    for file in sorted(
        {source.folder / getattr(step, str(step.requirements_key)) for step in steps}
    ):
        if file.is_file():
            yield from missing_hashes(file)
