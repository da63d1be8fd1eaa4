"""The step runs in NVIDIA's image: what it imports is there, and its syntax is old enough."""

import ast
import sys
from pathlib import Path

import pytest

STEP = Path(__file__).parents[4] / "model_build" / "gpu_step"
OLDEST_PYTHON = (3, 8)  # of the images up to 23.03
FILES = sorted(STEP.glob("*.py"))


def _imported(tree: ast.Module) -> set[str]:
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
def test_a_file_imports_its_neighbours_the_standard_library_and_tensorrt(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=OLDEST_PYTHON)
    for name in _imported(tree):
        own = name.startswith(".") and not name.startswith("..")
        assert own or name == "tensorrt" or name.partition(".")[0] in sys.stdlib_module_names, name


@pytest.mark.parametrize("path", FILES, ids=lambda value: value.name)
def test_annotations_are_not_evaluated_where_old_pythons_cannot(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    annotated = any(isinstance(each, ast.AnnAssign | ast.FunctionDef) for each in ast.walk(tree))
    if annotated:
        assert "__future__" in _imported(tree)
