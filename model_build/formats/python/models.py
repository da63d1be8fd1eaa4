"""The rule for the code of Python models."""

import ast
import os
from pathlib import Path

from model_build.findings import Location, Problems
from model_build.repository import Model

CLASS = "TritonPythonModel"


def python_models(model: Model) -> Problems:
    """A Python model's file is valid Python with a class `TritonPythonModel` and `execute`.

    On a multi-model endpoint a violation is an error of the first invocation.
    """
    name = model.config.default_model_filename or "model.py"
    for version in model.versions:
        path = model.directory / version / name
        if os.path.isfile(path):
            display_path = model.file_location(version, name).path
            yield from _check_file(path, display_path)


def _check_file(path: Path, display_path: Path) -> Problems:
    try:
        module = ast.parse(path.read_bytes())
    except SyntaxError as error:
        yield Location(display_path, error.lineno, error.offset), f"does not parse: {error.msg}"
        return
    except (ValueError, MemoryError, RecursionError) as error:  # the last two: deep nesting
        yield Location(display_path), f"does not parse: {str(error) or type(error).__name__}"
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    if CLASS not in text:
        yield (
            Location(display_path),
            f"has no class {CLASS}, which Triton's python backend looks for",
        )
        return
    for node in module.body:
        if isinstance(node, ast.ClassDef) and node.name == CLASS and not node.bases:
            methods = {getattr(member, "name", "") for member in node.body}
            if "execute" not in methods:
                yield (
                    Location(display_path, node.lineno, node.col_offset + 1),
                    f"{CLASS} has no method execute(self, requests)",
                )
