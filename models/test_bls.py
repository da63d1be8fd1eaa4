"""A Python model that calls another one, as `new model --kind bls` writes it.

On one multi-model container, with two versions of the archive loaded at once, as in a publish.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cli import new_model

Serve = Callable[[Path], Any]


def root(served: Any) -> float:
    """Return the answer to -16, for which the other model is called."""
    answer: float = served.ask({"X": np.array([[-16]], np.float32)})["ROOT"].item()
    return answer


def test_two_versions_call_their_own_models_at_once(tmp_path: Path, serve: Serve) -> None:
    folders = []
    for number, version in enumerate(("current", "next"), 1):
        models = tmp_path / version
        models.mkdir()
        folder = new_model.write("roots", "bls", models=models)
        called = folder / "roots" / "1" / "positive" / "model.py"
        called.write_text(
            called.read_text().replace("np.abs(numbers)", f"{number}*np.abs(numbers)")
        )
        folders.append(folder)
    first, second = map(serve, folders)
    assert first.archive != second.archive
    assert [root(first), root(second), root(first)] == [4, np.float32(np.sqrt(32)), 4]
