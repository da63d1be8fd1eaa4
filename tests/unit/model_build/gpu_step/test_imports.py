"""Imports and syntax of the GPU step, which must run in NVIDIA's images."""

import ast
import sys
from pathlib import Path

import pytest

STEP = Path(__file__).parents[4] / "model_build" / "gpu_step"
OLDEST_PYTHON = (3, 10)  # of the image of 24.05
FILES = sorted(STEP.glob("*.py"))


def _imported_modules(tree: ast.Module) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        if isinstance(node, ast.ImportFrom):
            names.add("." * node.level + (node.module or ""))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "importlib.import_module":
            names.add(ast.literal_eval(node.args[0]))
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda value: value.name)
def test_imports_are_own_standard_library_or_tensorrt(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=OLDEST_PYTHON)
    for name in _imported_modules(tree):
        is_own = name.startswith(".") and not name.startswith("..")
        assert is_own or name == "tensorrt" or name.partition(".")[0] in sys.stdlib_module_names, (
            name
        )
