"""Parameters of the Python backend have values that it can read."""

import os

from model_build.findings import Problems
from model_build.repository import Model

DIRECTORY = "$$TRITON_MODEL_DIRECTORY"


def python_parameters(model: Model) -> Problems:
    """EXECUTION_ENV_PATH is in the archive, FORCE_CPU_ONLY_INPUT_TENSORS is "yes" or "no".

    Sources: python_backend README and src/python_be.cc; Triton replaces the variable at the
    beginning of the value only.
    """
    parameters = {name: value.string_value for name, value in model.config.parameters.items()}
    if environment := parameters.get("EXECUTION_ENV_PATH"):
        place = model.at("parameters", "EXECUTION_ENV_PATH")
        inside = environment.removeprefix(f"{DIRECTORY}/")
        if inside == environment:
            yield (
                place,
                f'"{environment}" is not in the archive: write "{DIRECTORY}/FILE.tar.gz"',
            )
        elif model.versions and not os.path.exists(model.directory / inside):
            yield place, f"{inside} is not beside config.pbtxt: add it there"
    force = parameters.get("FORCE_CPU_ONLY_INPUT_TENSORS", "yes")
    if force not in ("yes", "no"):
        yield (
            model.at("parameters", "FORCE_CPU_ONLY_INPUT_TENSORS"),
            f'is "{force}": write "yes" or "no"',
        )
