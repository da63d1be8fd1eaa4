"""Number of code lines per package, without blanks, comments and docstrings: `make lines`."""

import ast
import io
import subprocess
import tokenize
from collections import Counter
from pathlib import Path

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def python_files(root: Path) -> list[Path]:
    """Return the Python files of a repository that git does not ignore, relative to `root`."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = sorted({Path(line) for line in listing.stdout.splitlines()})
    return [path for path in paths if (root / path).is_file()]


def code_lines(source: str) -> int:
    """Return the number of a module's code lines; a string statement is a docstring."""
    strings = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
    docstrings = {
        line
        for node in strings
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in _NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(code - docstrings)


def package(path: Path) -> str:
    """Return the package of a file, or `tests` for all tests."""
    if is_test(path):
        return "tests"
    return path.parts[0]


def is_test(path: Path) -> bool:
    """Return whether a file is a test or a helper of tests."""
    return "tests" in path.parts or path.name.startswith(("test_", "conftest"))


def main() -> None:
    """Print the number of code lines of each package, the largest first."""
    counts: Counter[str] = Counter()
    for path in python_files(Path()):
        counts[package(path)] += code_lines(path.read_text())
    for name, count in counts.most_common():
        print(f"{count:7,}  {name}")
    print(f"{counts.total() - counts['tests']:7,}  all but tests")


if __name__ == "__main__":
    main()
