"""Check for vague names, vague sentences of configuration files, and duplicate names of classes."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tools.lint.lines import is_test, python_files
from tools.lint.messages import VAGUE

BANNED = {"asked", "found", "given", "it", "said", "seen", "told", "wanted"}
INTERFACES = {"TritonPythonModel"}
"""Class names that are not checked: Triton's Python backend requires this one in each model.py."""

CONFIGURATION = ("Makefile", "*.toml", "*.yaml", "*.yml", ":!*tests/*", ":!docs/*")
"""Patterns of git for the files whose comments and descriptions are checked."""


class Occurrence(NamedTuple):
    """A banned word, or a class name that another file also has."""

    word: str
    path: str
    line: int


def occurrences(root: Path) -> Iterator[Occurrence]:
    """Yield the occurrences in the Python files of a repository."""
    classes: dict[str, list[Occurrence]] = defaultdict(list)
    for path in python_files(root):
        tree = ast.parse((root / path).read_text())
        for name, line in chain([(path.stem, 1)], _bound_names(tree)):
            if (word := name.strip("_").lower()) in BANNED:
                yield Occurrence(word, str(path), line)
        for node in tree.body if not is_test(path) else ():
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(Occurrence(f"class:{node.name}", str(path), node.lineno))
    for name, definitions in classes.items():
        if len(definitions) > 1 and name not in INTERFACES:
            yield from definitions


def vague_sentences(root: Path) -> Iterator[Occurrence]:
    """Yield the vague words in configuration files, except in quotations."""
    command = ["git", "ls-files", "--", *CONFIGURATION]
    listing = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    for path in listing.splitlines():
        for number, line in enumerate((root / path).read_text().splitlines(), 1):
            for match in VAGUE.finditer(re.sub(r'"[^"]*"', "", line)):
                yield Occurrence(match.group(), path, number)


def _bound_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield each name that a module binds, with its line."""
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
        return "another public class has this name: choose a different name"
    if not occurrence.path.endswith(".py"):
        return "vague sentence: name the subject and the action"
    return "vague name: use a noun for data, a verb for a function"


def main() -> int:
    """Check the working directory's repository; return the exit code."""
    rejected = [*occurrences(Path()), *vague_sentences(Path())]
    for item in rejected:
        print(f"error: {item.path}:{item.line}: {item.word}: {_problem(item)}", file=sys.stderr)
    return int(bool(rejected))


if __name__ == "__main__":
    sys.exit(main())
