"""Python models are Python."""

import ast
import os
from pathlib import Path

from model_build.findings import Place, Problems
from model_build.repository import Model

CLASS = "TritonPythonModel"


def python_models(model: Model) -> Problems:
    """A Python model's file parses, and has a class `TritonPythonModel` with `execute`.

    A multi-model endpoint would find out at the first invocation only.
    """
    name = model.config.default_model_filename or "model.py"
    for version in model.versions:
        path = model.directory / version / name
        if os.path.isfile(path):
            shown = model.file(version, name).path
            yield from _findings(path, shown)


def _findings(path: Path, shown: Path) -> Problems:
    try:
        module = ast.parse(path.read_bytes())
    except SyntaxError as error:
        yield Place(shown, error.lineno, error.offset), f"does not parse: {error.msg}"
        return
    except (ValueError, MemoryError, RecursionError) as error:  # the latter two: nested too deeply
        yield Place(shown), f"does not parse: {str(error) or type(error).__name__}"
        return
    classes = [it for it in module.body if isinstance(it, ast.ClassDef) and it.name == CLASS]
    if not classes and not _may_come_from_elsewhere(module):
        yield Place(shown), f"has no class {CLASS}, which Triton's python backend looks for"
    for found in classes:
        methods = [
            it.name for it in found.body if isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        if "execute" not in methods and not found.bases:
            yield (
                Place(shown, found.lineno, found.col_offset + 1),
                f"{CLASS} has no method execute(self, requests)",
            )


def _may_come_from_elsewhere(module: ast.Module) -> bool:
    """Whether the class may come from another module, or from an assignment."""
    return any(
        (isinstance(node, ast.alias) and (node.asname or node.name) in (CLASS, "*"))
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == CLASS)
        for node in ast.walk(module)
    )
