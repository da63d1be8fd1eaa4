"""Imports of a model's Python files that the archive or the image must have."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from model_build.findings import Place, Problems
from model_build.repository import Model

PACKAGES = "site-packages"
"""The folder, in a version folder, of the packages that the archive brings."""

PROMISED = frozenset(
    {
        *sys.stdlib_module_names,
        # In the standard library until Python 3.11 or 3.12, and so in some releases' images.
        *("asynchat", "asyncore", "binhex", "distutils", "imp", "smtpd"),
        "numpy",  # server/build.py of triton-inference-server installs it in every release
        "triton_python_backend_utils",
        "c_python_backend_utils",
    }
)
"""Modules that every release's image has for models."""


class Import(NamedTuple):
    """The top-level name of a module that a file imports, and where, counted from 1."""

    module: str
    line: int
    column: int


def imports(code: bytes) -> Iterator[Import]:
    """Yield what Python code must have; nothing where it is no Python.

    What stands in `try` with an `except` for it, or under `if TYPE_CHECKING`, may be missing.
    """
    try:
        yield from _imports(ast.parse(code))
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # the latter: nested too deeply
        return


def _imports(node: ast.AST) -> Iterator[Import]:
    match node:
        case ast.Import(names=names):
            for name in names:
                yield Import(name.name.partition(".")[0], node.lineno, node.col_offset + 1)
        case ast.ImportFrom(module=str(module), level=0):
            yield Import(module.partition(".")[0], node.lineno, node.col_offset + 1)
        case ast.Try(handlers=handlers, orelse=orelse, finalbody=finalbody) if _forgiven(handlers):
            for inner in (*handlers, *orelse, *finalbody):
                yield from _imports(inner)
        case ast.If(test=test, orelse=orelse) if "TYPE_CHECKING" in ast.unparse(test):
            for inner in orelse:
                yield from _imports(inner)
        case _:
            for inner in ast.iter_child_nodes(node):
                yield from _imports(inner)


def _forgiven(handlers: list[ast.ExceptHandler]) -> bool:
    caught = [ast.unparse(handler.type) if handler.type else "Exception" for handler in handlers]
    forgiving = ("ImportError", "ModuleNotFoundError", "Exception")
    return any(name in text for text in caught for name in forgiving)


def python_imports(model: Model) -> Problems:
    """A Python model imports what every release's image has, or its archive brings.

    A multi-model endpoint would find out at the first invocation only. A model with a Python
    environment of its own (`EXECUTION_ENV_PATH`) has what that has.
    """
    yield from ((place, message) for _, place, message in missing_imports(model))


def missing_imports(model: Model) -> Iterator[tuple[Import, Place, str]]:
    """Yield the imports of one model that nothing answers, if it is a Python model."""
    if model.backend != "python" or "EXECUTION_ENV_PATH" in model.config.parameters:
        return
    for file, imported in _unmet(model.directory):
        path = model.file_place(model.relative_path(file)).path
        yield (
            imported,
            Place(path, imported.line, imported.column),
            f"imports {imported.module}, which neither Python's standard library, nor numpy, nor "
            "this model directory has: add it with a `python-packages` step in recipe.yaml "
            "(docs/models.md), or catch ImportError",
        )


def _unmet(directory: Path) -> Iterator[tuple[Path, Import]]:
    """Yield what the files of a model directory import and neither they nor Triton's images have.

    A module counts wherever in the directory it is: a model may extend `sys.path` itself. What one
    file imports twice is told once.
    """
    files = [path for path in sorted(directory.rglob("*.py")) if PACKAGES not in path.parts]
    here = {
        path.name.partition(".")[0] for path in directory.rglob("*") if PACKAGES not in path.parts
    }
    packed = {path.name.partition(".")[0] for path in directory.glob(f"*/{PACKAGES}/*")}
    for file in files:
        known = PROMISED | here | packed
        for imported in imports(file.read_bytes()) if file.is_file() else ():
            if imported.module not in known:
                known |= {imported.module}
                yield file, imported
