"""The Python function beside a recipe that makes the model to export."""

import importlib.util
import os
from pathlib import Path

from model_build.errors import BuildError
from model_build.torch_model import TorchModel


def load(source: str, *, model_folder: Path, weights: Path | None) -> TorchModel:
    """Call `source`, a `FILE.py:FUNCTION` below the folder, with the folder of the weights.

    Raises `BuildError` when there is no such function, or it returns something else.
    """
    file, _, function = source.partition(":")
    path = model_folder / file
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise BuildError(f"{path} does not exist: `source` names a Python file beside the recipe")
    os.environ.setdefault("TQDM_DISABLE", "1")  # libraries' bars would tear our progress lines
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    exporter = getattr(module, function, None)
    if exporter is None:
        raise BuildError(f"{path} has no function {function}")
    model = exporter(weights)
    if not isinstance(model, TorchModel):
        raise BuildError(f"{model_folder / source}: return a model_build.TorchModel")
    return model
