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
            if not model.config.model_transaction_policy.decoupled:
                yield from _check_responses(path, display_path)


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


def _check_responses(path: Path, display_path: Path) -> Problems:
    """Yield a method `execute` that neither returns nor sends responses.

    Triton accepts None, releases the requests and never answers them (python_backend r24.09,
    src/pb_stub.cc, ProcessReturnedResponses): SageMaker reports a time-out after 60 s.
    """
    try:
        module = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # _check_file reports it
        return
    for node in module.body:
        if not isinstance(node, ast.ClassDef) or node.name != CLASS:
            continue
        for method in node.body:
            if (
                isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
                and method.name == "execute"
                and not _may_respond(method)
            ):
                yield (
                    Location(display_path, method.lineno, method.col_offset + 1),
                    "execute returns None, and Triton never answers the request: return a list "
                    "with one pb_utils.InferenceResponse for each request",
                )


def _may_respond(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a method returns a value, raises an error at its end, or sends responses."""
    code = ast.unparse(method)
    if "get_response_sender" in code or "set_release_flags" in code:
        return True
    statements: list[ast.AST] = list(method.body)
    while statements:
        node = statements.pop()
        if isinstance(node, ast.Return):
            if not (node.value is None or ast.unparse(node.value) == "None"):
                return True
        elif isinstance(node, ast.Yield | ast.YieldFrom | ast.Raise):
            return True  # Triton answers with an error
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            statements += ast.iter_child_nodes(node)
    return False
