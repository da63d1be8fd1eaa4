"""The rule for Python models that call other models (Business Logic Scripting)."""

import ast
from collections.abc import Iterator

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


def _find_calls(code: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield line, column and model name of each `InferenceRequest(model_name="...")`."""
    try:
        module = ast.parse(code)
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # python_models reports it
        return
    for node in ast.walk(module):
        if not isinstance(node, ast.Call) or not ast.unparse(node.func).endswith(REQUEST):
            continue
        for keyword in node.keywords:
            match keyword:
                case ast.keyword("model_name", ast.Constant(value=str(name))):
                    yield node.lineno, node.col_offset + 1, name
