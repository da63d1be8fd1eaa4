"""The model of `new model --kind bls`, a Python model that calls another model.

A multi-model container has two versions of the archive at the same time, as during a publish.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cli import new_model

Serve = Callable[[Path], Any]


def invoke_root(model: Any) -> float:
    """Return the output for -16. For negative numbers, the model calls the other model."""
    output: float = model.invoke({"X": np.array([[-16]], np.float32)})["ROOT"].item()
    return output


def test_two_loaded_versions_call_their_own_models(tmp_path: Path, serve: Serve) -> None:
    folders = []
    for number, version in enumerate(("current", "next"), 1):
        models = tmp_path / version
        models.mkdir()
        folder = new_model.write("roots", "bls", models=models)
        called_model = folder / "roots" / "1" / "positive" / "model.py"
        called_model.write_text(
            called_model.read_text().replace("np.abs(numbers)", f"{number}*np.abs(numbers)")
        )
        folders.append(folder)
    first, second = map(serve, folders)
    assert first.archive != second.archive
    assert [invoke_root(first), invoke_root(second), invoke_root(first)] == [
        4,
        np.float32(np.sqrt(32)),
        4,
    ]
