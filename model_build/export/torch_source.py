"""The Python function beside a recipe that makes the model to export."""

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
    """Call `source`, a `FILE.py:FUNCTION` below the model's folder, with the folder of the weights.

    torch is seeded before. Nothing is written into the model's folder. Raises `BuildError` when
    there is no such function, or it fails, or it returns something else.
    """
    _silence_libraries()
    import torch

    model_folder = context.model_folder
    file, _, function = source.partition(":")
    path = model_folder / file
    if not path.is_file():
        raise BuildError(f"{path} does not exist: `source` names a Python file beside the recipe")
    module = _run(path, lambda: _module(path))
    exporter = getattr(module, function, None)
    if exporter is None:
        raise BuildError(f"{path} has no function {function}")
    torch.manual_seed(context.seed)
    model = _run(path, lambda: exporter(context.weights))
    if not isinstance(model, TorchModel):
        raise BuildError(f"{model_folder / source}: return a model_build.TorchModel")
    return model


def _silence_libraries() -> None:
    """Keep libraries' bars and hints out of our progress lines; they read this when imported."""
    os.environ.setdefault("TQDM_DISABLE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")


def _run(path: Path, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        raise BuildError(f"{path} failed: {type(error).__name__}: {error}") from error


def _module(path: Path) -> ModuleType:
    """Execute a file as a module that stays in `sys.modules`, where Dynamo looks for it.

    Its name follows from its content alone: torch writes the names of classes into TorchScript.
    No bytecode is read or written beside it: the model's digest does not count that.
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
