"""Reject names without a meaning, and public classes of one name: `python -m lint.language`."""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from lint.lines import is_test, python_files

BANNED = {"asked", "found", "given", "it", "said", "seen", "told", "wanted"}
INTERFACES = {"TritonPythonModel"}
"""Classes whose name is not ours: Triton's Python backend looks for this one in each model.py."""


class Occurrence(NamedTuple):
    """A banned name, or a class name that another file has too."""

    word: str
    path: str
    line: int


def occurrences(root: Path) -> Iterator[Occurrence]:
    """Return the occurrences in the Python files of a repository."""
    classes: dict[str, list[Occurrence]] = defaultdict(list)
    for path in python_files(root):
        tree = ast.parse((root / path).read_text())
        for name, line in chain([(path.stem, 1)], _bound_names(tree)):
            if (word := name.strip("_").lower()) in BANNED:
                yield Occurrence(word, str(path), line)
        for node in tree.body if not is_test(path) else ():
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(Occurrence(f"class:{node.name}", str(path), node.lineno))
    for name, places in classes.items():
        if len(places) > 1 and name not in INTERFACES:
            yield from places


def _bound_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Return each name that a module gives to something, with its line; uses do not count."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg(arg=name):
                yield name, node.lineno
            case ast.alias(asname=str(name)):
                yield name, node.lineno
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
            ):
                yield name, node.lineno


def _problem(occurrence: Occurrence) -> str:
    if occurrence.word.startswith("class:"):
        return "another public class has this name: choose one that tells them apart"
    return "no name for a value or function: write a noun for data, a verb for a function"


def main() -> int:
    """Check the working directory's repository; return the exit code."""
    present = list(occurrences(Path()))
    for each in present:
        print(f"error: {each.path}:{each.line}: {each.word}: {_problem(each)}", file=sys.stderr)
    return int(bool(present))


if __name__ == "__main__":
    sys.exit(main())
