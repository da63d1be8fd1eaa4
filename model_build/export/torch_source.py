"""Loading of export functions that return a `TorchModel`."""

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from model_build.errors import BuildError
from model_build.export.step import StepContext
from model_build.export.torch_model import TorchModel


def load(source: str, context: StepContext) -> TorchModel:
    """Return the result of `source`, a `FILE.py:FUNCTION` in the model's folder.

    The function gets the folder of the weights; torch is seeded before. Raise `BuildError` if the
    function does not exist, fails, or does not return a TorchModel.
    """
    _silence_libraries()
    import torch

    model_folder = context.model_folder
    file, _, function = source.partition(":")
    path = model_folder / file
    if not path.is_file():
        raise BuildError(f"{path} does not exist: `source` names a Python file beside the recipe")
    module = _run_source(path, lambda: _execute_module(path))
    exporter = getattr(module, function, None)
    if exporter is None:
        raise BuildError(f"{path} has no function {function}")
    torch.manual_seed(context.seed)
    model = _run_source(path, lambda: exporter(context.weights))
    if not isinstance(model, TorchModel):
        raise BuildError(f"{model_folder / source}: return a model_build.TorchModel")
    return model


def _silence_libraries() -> None:
    """Suppress progress bars and hints of libraries, which read these variables on import."""
    os.environ.setdefault("TQDM_DISABLE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")


def _run_source(path: Path, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        raise BuildError(f"{path} failed: {type(error).__name__}: {error}") from error


def _execute_module(path: Path) -> ModuleType:
    """Execute a file as a module and add it to `sys.modules`, which Dynamo reads.

    The module's name depends only on its content, since torch writes class names into TorchScript.
    Bytecode files are neither read nor written: the model's digest does not cover them.
    """
    source = path.read_bytes()
    module = ModuleType(f"model_source_{hashlib.sha256(source).hexdigest()}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    return module
