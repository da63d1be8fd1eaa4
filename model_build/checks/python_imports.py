"""Python models import what is there."""

from collections.abc import Iterator

from model_build.findings import Place
from model_build.python_imports import Import, unmet
from model_build.repository import Model, Repository


def python_imports(repository: Repository) -> Iterator[tuple[Place, str]]:
    """A Python model imports what every release's image has, or its archive brings.

    A multi-model endpoint would find out at the first invocation only. A model with a Python
    environment of its own (`EXECUTION_ENV_PATH`) has what that has.
    """
    for model in repository.models.values():
        yield from ((place, message) for _, place, message in unmet_imports(model))


def unmet_imports(model: Model) -> Iterator[tuple[Import, Place, str]]:
    """Yield the imports of one model that nothing answers, if it is a Python model."""
    if model.backend != "python" or "EXECUTION_ENV_PATH" in model.config.parameters:
        return
    for file, imported in unmet(model.directory):
        path = model.file(model.inner(file)).path
        yield (
            imported,
            Place(path, imported.line, imported.column),
            f"imports {imported.module}, which neither Python's standard library, nor numpy, nor "
            "this model directory has: add it with a `python-packages` step in recipe.yaml "
            "(docs/models.md), or catch ImportError",
        )
