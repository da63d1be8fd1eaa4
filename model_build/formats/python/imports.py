"""The rule for imports in Python models."""

import ast
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from model_build.export.pip import lock_command
from model_build.findings import Location, Problems
from model_build.model_config import ENVIRONMENT
from model_build.repository import Model

PACKAGES = "site-packages"
"""The folder of the archive's packages in a version folder."""

AVAILABLE = frozenset(
    {
        *sys.stdlib_module_names,
        # In the standard library until Python 3.11 or 3.12, and so in the images of some releases.
        *("asynchat", "asyncore", "binhex", "distutils", "imp", "smtpd"),
        "numpy",  # server/build.py of triton-inference-server installs it in every release
        "triton_python_backend_utils",
        "c_python_backend_utils",
    }
)
"""Modules that models can import in every release's image."""

PYPI_NAMES = {
    **{
        module: module
        for module in (
            *("catboost", "lightgbm", "numba", "onnxruntime", "pandas", "polars", "requests"),
            *("safetensors", "scipy", "sentencepiece", "tensorflow", "tiktoken", "tokenizers"),
            *("torch", "torchvision", "transformers", "xgboost"),
        )
    },
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""The package of PyPI that has a module; other packages may have it too, such as tensorflow-cpu."""


class Import(NamedTuple):
    """The top-level name of an imported module, with line and column from 1."""

    module: str
    line: int
    column: int


@lru_cache  # many folders may have the same code
def find_imports(code: bytes) -> tuple[Import, ...]:
    """Return the required imports of Python code; none for invalid code.

    Imports in `try` with a matching `except`, or under `if TYPE_CHECKING`, are optional.
    """
    try:
        return tuple(_find_imports(ast.parse(code)))
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # the last two: deep nesting
        return ()


def _find_imports(node: ast.AST) -> Iterator[Import]:
    match node:
        case ast.Import(names=names):
            for name in names:
                yield Import(name.name.partition(".")[0], node.lineno, node.col_offset + 1)
        case ast.ImportFrom(module=str(module), level=0):
            yield Import(module.partition(".")[0], node.lineno, node.col_offset + 1)
        case ast.Try(handlers=handlers, orelse=orelse, finalbody=finalbody) if (
            _catches_import_errors(handlers)
        ):
            for child in (*handlers, *orelse, *finalbody):
                yield from _find_imports(child)
        case ast.If(test=test, orelse=orelse) if "TYPE_CHECKING" in ast.unparse(test):
            for child in orelse:
                yield from _find_imports(child)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _find_imports(child)


def _catches_import_errors(handlers: list[ast.ExceptHandler]) -> bool:
    """Return whether one of the handlers catches import errors."""
    caught_types = [
        ast.unparse(handler.type) if handler.type else "Exception" for handler in handlers
    ]
    import_errors = ("ImportError", "ModuleNotFoundError", "Exception")
    return any(name in text for text in caught_types for name in import_errors)


def python_imports(model: Model) -> Problems:
    """A Python model imports only modules of the archive and of every release's image.

    On a multi-model endpoint a missing module is an error of the first invocation. Models with
    their own Python environment (`EXECUTION_ENV_PATH`) are not checked.
    """
    yield from ((location, message) for _, location, message in missing_imports(model))


def missing_imports(model: Model) -> Iterator[tuple[Import, Location, str]]:
    """Yield a Python model's imports of missing modules, with location and message."""
    if model.backend != "python" or ENVIRONMENT in model.config.parameters:
        return
    for file, imported in _missing_modules(model.directory):
        path = model.file_location(model.relative_path(file)).path
        yield (
            imported,
            Location(path, imported.line, imported.column),
            f"imports {imported.module}, which neither Python's standard library, nor numpy, nor "
            f"this model directory has: {_fix(model, imported.module)}, or catch ImportError",
        )


def _fix(model: Model, module: str) -> str:
    """Return the command that adds the package of a module."""
    folder = model.display_path.parent
    command = lock_command("MODEL" if folder == Path() else folder, "--to", model.name, "--add")
    if package := PYPI_NAMES.get(module):
        return f"add it with `{command} {package}`"
    return f"add it with `{command} PACKAGE`, where PACKAGE is the one of PyPI that has it"


def _missing_modules(directory: Path) -> Iterator[tuple[Path, Import]]:
    """Yield imports of modules that neither the model directory nor Triton's images have.

    Modules anywhere in the directory are accepted, since a model may extend `sys.path`. Each file
    reports a module once.
    """
    own_files = [path for path in sorted(directory.rglob("*")) if PACKAGES not in path.parts]
    package_files = directory.glob(f"*/{PACKAGES}/*")
    modules = {path.name.partition(".")[0] for path in (*own_files, *package_files)}
    for file in sorted(_reached_files(directory, own_files)):
        available_modules = AVAILABLE | modules
        for imported in find_imports(file.read_bytes()):
            if imported.module not in available_modules:
                available_modules |= {imported.module}
                yield file, imported


def _reached_files(directory: Path, own_files: list[Path]) -> set[Path]:
    """Return the Python files in version folders, and those that they import, by name.

    Other files of the directory, such as clients and tests, run elsewhere.
    """
    files = [file for file in own_files if _is_python_file(file)]
    names = {file: _imported_names(file.read_bytes()) for file in files}
    reached = {file for file in files if file.relative_to(directory).parts[0].isdecimal()}
    waiting = [*reached]
    while waiting:
        imported = names[waiting.pop()]
        new = {file for file in files if imported & {file.stem, *file.parent.parts}} - reached
        reached |= new
        waiting += new
    return reached


@lru_cache
def _imported_names(code: bytes) -> frozenset[str]:
    """Return all names in the imports of Python code, empty for invalid code."""
    try:
        nodes = [*ast.walk(ast.parse(code))]
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return frozenset()
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    texts = [alias.name for node in imports for alias in node.names]
    texts += [node.module for node in imports if isinstance(node, ast.ImportFrom) and node.module]
    return frozenset(name for text in texts for name in text.split("."))


def _is_python_file(path: Path) -> bool:
    return path.suffix == ".py" and path.is_file()
