"""Rules for the environments of Python models (python_backend README, "Conda Environment")."""

import os

from model_build.findings import Problems, warning
from model_build.model_config import ENVIRONMENT
from model_build.repository import Model

MODEL_DIRECTORY = "$$TRITON_MODEL_DIRECTORY/"
"""Triton replaces it by the folder where SageMaker has unpacked the model."""


def execution_environments(model: Model) -> Problems:
    """The environment is in the archive: only $$TRITON_MODEL_DIRECTORY leads there.

    A file in a version folder may be one that the recipe generates.
    """
    path = _environment(model)
    inner = path.removeprefix(MODEL_DIRECTORY)
    if not path or path.startswith("/"):
        return
    if inner == path:
        yield (
            model.field_location("parameters"),
            f'{ENVIRONMENT} "{path}" is relative to the folder that Triton runs in: write '
            f'"{MODEL_DIRECTORY}{path}"',
        )
    elif not inner.partition("/")[0].isdecimal() and not os.path.exists(model.directory / inner):
        yield (
            model.field_location("parameters"),
            f"{ENVIRONMENT}: {model.name}/{inner} is missing: add the environment",
        )


@warning
def foreign_environments(model: Model) -> Problems:
    """The environment is not in the container's image, which only an image of your own has."""
    path = _environment(model)
    if path.startswith("/"):
        yield (
            model.field_location("parameters"),
            f'{ENVIRONMENT} "{path}" is not in the images of AWS: write "{MODEL_DIRECTORY}...", '
            "unless your own image has it",
        )


def _environment(model: Model) -> str:
    parameters = model.config.parameters
    return str(parameters[ENVIRONMENT].string_value) if ENVIRONMENT in parameters else ""
