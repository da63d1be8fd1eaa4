"""The rule for Python models that call other models (Business Logic Scripting)."""

import ast
from functools import lru_cache

from model_build.findings import Location, Problems
from model_build.repository import Model

REQUEST = "InferenceRequest"


def bls_calls(model: Model) -> Problems:
    """A Python model calls no other model by a fixed name.

    SageMaker's front end of Triton loads only the served model of an archive and the steps of its
    ensemble (server src/sagemaker_server.cc, SageMakerMMELoadModel; server#5452). On a multi-model
    endpoint a fixed name is ambiguous: if two loaded archives have a model of that name, Triton
    responds "Model ... is not ready" to both callers.
    """
    for path in sorted(model.directory.glob("[1-9]*/**/*.py")):
        for line, column, name in _find_calls(path.read_bytes()):
            yield (
                Location(model.file_location(model.relative_path(path)).path, line, column),
                f'calls model "{name}" by a fixed name: it is not loaded, or its name is '
                "not unique on a multi-model endpoint: load it in initialize under a "
                "name of its own (docs/models.md, Models that call models), or make it a step "
                "of an ensemble",
            )


@lru_cache  # many folders may have the same code
def _find_calls(code: bytes) -> tuple[tuple[int, int, str], ...]:
    """Return line, column and model name of each `InferenceRequest(model_name="...")`."""
    try:
        nodes = [*ast.walk(ast.parse(code))]
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # python_models reports it
        return ()
    return tuple(
        (node.lineno, node.col_offset + 1, str(keyword.value.value))
        for node in nodes
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(REQUEST)
        for keyword in node.keywords
        if keyword.arg == "model_name"
        and isinstance(keyword.value, ast.Constant)
        and isinstance(keyword.value.value, str)
    )
