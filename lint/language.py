"""Lint check for vague names and duplicate public class names (`make lint`).

`language.txt` is the baseline: a line `count word file` for what was there before the check. Counts
may only shrink; `python -m lint.language --update` writes the current ones.
"""

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


def compare(
    baseline: Counts, current: list[Occurrence], files: Container[str]
) -> tuple[list[str], bool]:
    """Return an error for each occurrence of a word above its baseline, and whether it can shrink.

    New files share the allowance of the baseline's deleted files, so that a rename does not fail.
    """
    known = {path for _, path in baseline if path in files}

    def group(word: str, path: str) -> tuple[str, str]:
        return word, path if path in known else ""

    allowed: Counts = Counter()
    for (word, path), count in baseline.items():
        allowed[group(word, path)] += count
    groups: dict[tuple[str, str], list[Occurrence]] = defaultdict(list)
    for occurrence in current:
        groups[group(occurrence.word, occurrence.path)].append(occurrence)
    errors = [
        f"{each.path}:{each.line}: {each.word}: {len(places)} here, {allowed[key]} allowed: "
        + _fix(each.word)
        for key, places in sorted(groups.items())
        if len(places) > allowed[key]
        for each in places
    ]
    return errors, any(len(groups[key]) < count for key, count in allowed.items())


def _fix(word: str) -> str:
    if word.startswith("class:"):
        return "another public class has this name: choose one that tells them apart"
    return "no name for a value or function: write a noun for data, a verb for a function"


def read(path: Path) -> Counts:
    """Return the counts of a baseline."""
    rows = (line.split(" ", 2) for line in path.read_text().splitlines())
    return Counter({(word, file): int(count) for count, word, file in rows})


def main(arguments: list[str]) -> int:
    """Check the working directory's repository, or update the baseline; return the exit code."""
    current = list(occurrences(Path()))
    counts = Counter((each.word, each.path) for each in current)
    baseline = read(BASELINE) if BASELINE.exists() else counts
    errors, fewer = compare(baseline, current, {str(path) for path in python_files(Path())})
    for error in errors:
        print(f"error: {error}", file=sys.stderr)
    if errors:
        return 1
    if "--update" in arguments:
        rows = sorted((path, word, count) for (word, path), count in counts.items())
        BASELINE.write_text("".join(f"{count} {word} {path}\n" for path, word, count in rows))
    elif fewer:
        print(f"error: {BASELINE.name} is above the current counts: run {COMMAND}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
