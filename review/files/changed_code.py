"""The changed files of a change: which are code, of which package, and who has to approve them.

No rule tries to recognise harmless code: people judge it. Files that are not code are compared as
data. Source of the patterns: GitHub docs, "About code owners".
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from functools import cached_property
from itertools import islice

from review.escaping import not_bold
from review.files.python_code import cut

LOCATIONS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""The files that GitHub reads; the first one that exists applies."""

PLACEHOLDER = "@octo-org/"
"""The start of owners that stand for those of your repository: GitHub ignores them."""

DATA = re.compile(
    r"stages/[^/]+\.yaml|docs/(?!(?:runbook|start)\.md)[^/]+\.md"  # tests run commands of these two
    r"|models/.+/config\.pbtxt|models/.+/labels\.txt|models/[^/]+/tests/(golden|sizing/[^/]+)\.json"
)
"""Paths of files that are data, which needs no owner; everything else is code."""

UNOWNED_CODE = "unowned_code"
"""The rule of code without an owner: about who approves a change, not about its content."""

ROOT = "the root"
MAX_FILES = 8
"""Maximum number of files in the line of a package, those with the most changed lines."""
MAX_COMPARED = 2000
"""Maximum number of lines of a script that is compared: difflib took 6 s for 8,000 lines."""
MAX_LINES = 6
"""Maximum number of changed lines of a script."""
MAX_DESCRIBED = 4
"""Maximum number of lines with the changed statements of a package's files."""


@dataclass(frozen=True)
class ChangedFile:
    """A changed file, with its content before and after, None if it does not exist.

    `old_path` is where a file of a renamed folder was before.
    """

    path: str
    before: bytes | None
    after: bytes | None
    old_path: str = ""

    @property
    def is_code(self) -> bool:
        """Whether people have to judge the change."""
        return DATA.fullmatch(self.path) is None

    @property
    def package(self) -> str:
        """The folder at the root; for models and constructs, the folder below."""
        folders = self.path.split("/")[:-1]
        return "/".join(folders[: 2 if folders[:1] in (["models"], ["constructs"]) else 1]) or ROOT

    @property
    def line_counts(self) -> tuple[int, int]:
        """The numbers of added and removed lines, without moved lines."""
        old, new = (Counter((side or b"").splitlines()) for side in (self.before, self.after))
        return (new - old).total(), (old - new).total()

    def __str__(self) -> str:
        """Return the path, and whether the file is new, deleted or moved."""
        state = "new" if self.before is None else "deleted" if self.after is None else ""
        state = f"from {self.old_path}" if self.old_path else state
        return f"{self.path} ({state})" if state else self.path


@dataclass(frozen=True)
class CodeOwners:
    """The owners of paths, by the lines of a CODEOWNERS file."""

    text: str

    @classmethod
    def of(cls, files: Mapping[str, bytes]) -> "CodeOwners":
        """Return the owners of the files of a tree."""
        contents = (files[path] for path in LOCATIONS if path in files)
        return cls(next(contents, b"").decode(errors="replace"))

    @cached_property
    def _lines(self) -> list[tuple[re.Pattern[str], str, list[str]]]:
        words = (line.partition("#")[0].split() for line in self.text.splitlines())
        return [(_expression(pattern), pattern, owners) for pattern, *owners in filter(None, words)]

    def _line(self, path: str) -> tuple[str, list[str]]:
        """Return pattern and owners of the last line that matches a path."""
        lines = reversed(self._lines)
        matching = ((pattern, owners) for regex, pattern, owners in lines if regex.fullmatch(path))
        return next(matching, ("", []))

    def named(self, path: str) -> list[str]:
        """Return the owners of a path."""
        return self._line(path)[1]

    def pattern(self, path: str) -> str:
        """Return the pattern that selects the owners of a path, empty if there is none."""
        return self._line(path)[0]

    def find(self, path: str) -> list[str]:
        """Return the owners of a path, without placeholders."""
        return [owner for owner in self.named(path) if not owner.startswith(PLACEHOLDER)]


def _expression(pattern: str) -> re.Pattern[str]:
    """Return the paths that a pattern matches, all of which are below it if it is a folder."""
    anchored = "/" in pattern.rstrip("/")
    text = re.escape(pattern.strip("/"))
    text = text.replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*")
    text = re.sub(r"\\\*", "[^/]*", text).replace(r"\?", "[^/]")
    is_name = "*" in pattern.rstrip("/").rpartition("/")[2] and pattern != "*"
    below = "/.*" if pattern.endswith("/") else "" if is_name else "(?:/.*)?"
    return re.compile(f"{'' if anchored else '(?:.*/)?'}{text}{below}", re.DOTALL)


def package_lines(
    files: Iterable[ChangedFile], statements: Mapping[str, list[str]]
) -> tuple[str, ...]:
    """Return a line for each package with changed code, and for files with changed `statements`.

    `statements` are texts of the path of a file; those of a package's only file are in its line.
    """
    by_package: dict[str, list[ChangedFile]] = {}
    for file in sorted(files, key=lambda file: -sum(file.line_counts)):
        by_package.setdefault(file.package, []).append(file)
    lines = []
    for package, changed in sorted(by_package.items()):
        names = ", ".join(map(str, changed[:MAX_FILES]))
        more = f" and {len(changed) - MAX_FILES} more below" if len(changed) > MAX_FILES else ""
        line = f"**{package}** ({_size(*changed)}): {names}{more}"
        paths: dict[str, list[str]] = {}
        for file in changed:
            if texts := statements.get(file.path):
                name = file.path.removeprefix(f"{package}/")
                paths.setdefault(not_bold("; ".join(texts)), []).append(name)
        if len(changed) == 1:
            lines.append(": ".join((line, *paths)))
        else:
            described = [f"{', '.join(names)}: {text}" for text, names in paths.items()]
            lines += [line, *described[:MAX_DESCRIBED]]
    return tuple(lines)


def script_lines(script: ChangedFile) -> list[str]:
    """Return the first lines of a script that are gone or new, without comments.

    make expands variables in a comment of a recipe.
    """
    before, after = (
        [line.strip() for line in (side or b"").decode(errors="replace").splitlines()]
        for side in (script.before, script.after)
    )
    if max(len(before), len(after)) > MAX_COMPARED:
        return [f"not compared: more than {MAX_COMPARED:,} lines"]
    words = {"-": "gone", "+": "new"}
    rows = [f"{words[row[0]]}: {cut(row[1:])}"
            for row in islice(unified_diff(before, after, n=0), 2, None)
            if row[0] in words and (row[1:2] not in ("", "#") or "$" in row)]  # fmt: skip
    more = len(rows) - MAX_LINES
    return [*rows[:MAX_LINES], *([f"{more} more changed lines"] if more > 0 else [])]


def file_lines(files: Iterable[ChangedFile]) -> tuple[str, ...]:
    """Return a line for each file."""
    return tuple(f"{file}: {_size(file)}" for file in files)


def _size(*files: ChangedFile) -> str:
    added, removed = map(sum, zip(*(file.line_counts for file in files), strict=True))
    return f"+{added} -{removed} lines"
