"""The app and its tests import only public modules of local_sagemaker."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tools.lint.lines import is_test, python_files

ROOT = Path(__file__).parents[2]
PUBLIC = {"", "prerequisites", "serving", "settings"}
SUPPORT = "tests.support."
"""Test support that tests of the app may import."""

ALLOWED_IMPORTS = {
    "models/test_stand_ins.py": "runs the code of stand-ins beside their frameworks",
    "tests/unit/endpoint_client/test_stream.py": "encodes event streams for the client",
    "tools/bench/evictions.py": "starts Triton alone, in the sandbox of an instance",
    "tests/transitions/": "runs hundreds of updates without servers and threads",
}
"""Test files that import internals -> reason."""


def test_only_public_modules_are_imported() -> None:
    private_imports = set[str]()
    used_exceptions = set[str]()
    for file in python_files(ROOT):
        if file.parts[0] == "local_sagemaker":
            continue
        for module in _imported(ast.parse((ROOT / file).read_text())):
            exception = next((path for path in ALLOWED_IMPORTS if str(file).startswith(path)), None)
            if module in PUBLIC or (module.startswith(SUPPORT) and is_test(file)):
                continue
            if exception:
                used_exceptions.add(exception)
            else:
                private_imports.add(f"{file}: local_sagemaker.{module}")
    assert private_imports == set()
    assert used_exceptions == set(ALLOWED_IMPORTS)


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the imported modules below the package; the package itself is an empty name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            package, _, module = node.module.partition(".")
            if package == "local_sagemaker":
                for name in node.names:
                    path = f"{module}.{name.name}".strip(".")
                    is_module = (ROOT / "local_sagemaker" / path.replace(".", "/")).is_dir() or (
                        ROOT / "local_sagemaker" / f"{path.replace('.', '/')}.py"
                    ).is_file()
                    yield path if is_module else module
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.partition(".")[0] == "local_sagemaker":
                    yield name.name.partition(".")[2]
