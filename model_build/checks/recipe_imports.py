"""Python models import what is there, as far as it can be told before packages are installed."""

from collections.abc import Iterator

from model_build.checks.python_imports import unmet_imports
from model_build.findings import Place
from model_build.recipe import PythonPackages
from model_build.repository import Repository
from model_build.source import ModelSource


def recipe_imports(source: ModelSource, repository: Repository) -> Iterator[tuple[Place, str]]:
    """As `python_imports`, of the models for which the recipe installs nothing."""
    packing = {
        file.partition("/")[0]
        for _, file, step in source.steps()
        if isinstance(step, PythonPackages)
    }
    for name, model in repository.models.items():
        if name not in packing:
            yield from unmet_imports(model)
