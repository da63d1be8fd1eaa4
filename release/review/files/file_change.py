"""A changed file, and the lines that describe it."""

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, NamedTuple

from release.review.values import arrow, changed_lines

Rule = Literal[
    "",
    "changed_guard",
    "changed_judge",
    "larger_tolerances",
    "lost_pins",
    "other_weights",
    "uncompared_tools",
    "unreadable_files",
    "unreviewed_code",
    "weakened_checks",
    "widened_workflows",
]


MOST_LINES = 3
"""Changed lines of a file that is not judged, if there are no more: they are shown."""

COMMENTED = (".in", ".sh", "CODEOWNERS", "Makefile")
"""Ends of names of files whose comments are lines that begin with #."""

PINNING = (b"--ignore-scripts", b"--only-binary", b"--require-hashes", b"npm ci")
"""What has package managers install what is locked, and run none of its code."""

SILENCING = (b"fmt:", b"noqa", b"nosec", b"pragma", b"skip", b"type: ignore")
"""Comments that have linters overlook something."""


class FileLine(NamedTuple):
    """One thing that changes in a file.

    With a `rule`, it is a danger of that name. In a file that judges, installs or deploys the next
    change, every other line is a danger too, unless it is `harmless`.
    """

    text: str
    rule: Rule = ""
    harmless: bool = False


@dataclass(frozen=True)
class FileChange:
    """A file that differs; `base` and `head` are all files, path -> content, of both sides."""

    path: str
    base: Mapping[str, bytes]
    head: Mapping[str, bytes]

    @property
    def before(self) -> bytes | None:
        """The content before, None where there was no file."""
        return self.base.get(self.path)

    @property
    def after(self) -> bytes | None:
        """The content after, None where there is no file."""
        return self.head.get(self.path)

    @property
    def model_stays(self) -> bool:
        """Whether the model's folder, which the file is in, still has files."""
        model = "/".join(self.path.split("/")[:2])
        return any(path.startswith(f"{model}/") for path in self.head)

    @property
    def subject(self) -> str:
        """What an acknowledgement names: the path and exactly this content."""
        content = self.after
        digest = "deleted" if content is None else hashlib.sha256(content).hexdigest()
        return f"{self.path}.{digest}"

    @property
    def state(self) -> str:
        """`new`, `deleted` or `changed`."""
        if self.before is None:
            return "new"
        return "deleted" if self.after is None else "changed"

    @property
    def size(self) -> str:
        """How many lines come and go, in bytes where a side is no text.

        Lines are counted without their order: one that moves is neither.
        """
        sides = [self.before or b"", self.after or b""]
        if any(b"\0" in side for side in sides):
            return f"{len(sides[0]):,} -> {len(sides[1]):,} bytes"
        old, new = (Counter(side.splitlines()) for side in sides)
        return f"+{(new - old).total()} -{(old - new).total()} lines"

    @property
    def lines(self) -> str:
        """The lines that come and go in a text that changes, empty for more than a few."""
        sides = [side.decode(errors="replace") for side in (self.before, self.after) if side]
        if len(sides) < 2 or any("\0" in side for side in sides):
            return ""
        gone, more = changed_lines(*sides)
        if not 0 < max(len(gone), len(more)) <= MOST_LINES:
            return ""
        return arrow(" ".join(gone) or "none", " ".join(more) or "none")

    @property
    def has_other_comments_alone(self) -> bool:
        """Whether only comments differ, and none that a linter obeys."""
        before, after = self.before or b"", self.after or b""
        if not (self.before and self.after and self.path.endswith((".py", *COMMENTED))):
            return False
        bare = _code if self.path.endswith(".py") else _without_comments
        silenced = [[side.count(word) for word in SILENCING] for side in (before, after)]
        return bare(before) == bare(after) != "" and silenced[0] == silenced[1]


def _code(content: bytes) -> str:
    """Return a module of Python without comments and docstrings, empty for what is none."""
    with suppress(SyntaxError, ValueError, RecursionError):
        module = ast.parse(content)
        for node in ast.walk(module):
            match node:
                case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    if ast.get_docstring(node, clean=False) is not None:
                        node.body[0] = ast.Pass()
        return ast.dump(module)
    return ""


def _without_comments(content: bytes) -> str:
    """Return a text without its comments, whole where a line may be one and no comment.

    What follows a backslash is of the line before; a here-document is a text of its own.
    """
    text = content.decode(errors="replace")
    if re.search(r"\\\n[ \t]*#|<<", text):
        return text
    lines = [line.rstrip() for line in text.splitlines()]
    code = (line for line in lines if line[:2] == "#!" or line.lstrip()[:1] not in ("", "#"))
    return "\n".join(code)


def unjudged(change: FileChange) -> Iterator[FileLine]:
    """Yield that a file changed whose content no rule judges, and how much of it, or what."""
    if change.has_other_comments_alone:
        yield FileLine("other comments, and no other code", harmless=True)
        return
    lines = f": {change.lines}" if change.lines else ""
    text = f"{change.state}, not judged ({change.size}){lines}"
    before, after = change.before or b"", change.after
    gone = [word for word in PINNING if after and after.count(word) < before.count(word)]
    names = ", ".join(word.decode() for word in gone)
    yield FileLine(f"without {names}: {text}", "lost_pins") if gone else FileLine(text)


def guard(change: FileChange) -> Iterator[FileLine]:
    """Yield that the code changed which guards and checks every update of an endpoint."""
    for line in unjudged(change):
        text = f"guards and checks every update: {line.text}"
        yield line if line.harmless else FileLine(text, "changed_guard")


def input_of_lock(change: FileChange) -> Iterator[FileLine]:
    """Yield that what a lock is made of changed: the lock, which is compared, is what counts."""
    for line in unjudged(change):
        yield line._replace(harmless=not line.rule)


def check_code(change: FileChange) -> Iterator[FileLine]:
    """Yield that a module of checks is deleted, or that it changed."""
    if change.after is None:
        yield FileLine(f"deleted ({change.size}): what it checked is no longer", "weakened_checks")
    else:
        yield from unjudged(change)


def linter_baseline(change: FileChange) -> Iterator[FileLine]:
    """Yield that a linter tolerates more of something than before: lines with a count first."""
    old, new = (Counter({line.partition(b" ")[2]: int(line.partition(b" ")[0])
                         for line in (side or b"").splitlines()})
                for side in (change.before, change.after))  # fmt: skip
    if more := new - old:
        yield FileLine(f"tolerates {more.total()} more", "weakened_checks")
    else:
        yield FileLine(f"tolerates {(old - new).total()} fewer", harmless=True)


def deleted(change: FileChange) -> Iterator[FileLine]:
    """Yield that a file is deleted, and nothing of other changes."""
    if change.after is None:
        yield FileLine(f"deleted ({change.size})")
