"""Files that differ in their comments alone."""

import ast
import re
from contextlib import suppress

from release.review.files.file_change import FileChange

COMMENTED = (".in", ".sh", "CODEOWNERS", "Makefile")
"""Ends of names of files whose comments are lines that begin with #."""

SILENCING = (b"fmt:", b"noqa", b"nosec", b"pragma", b"skip", b"type: ignore")
"""Comments that have linters overlook something."""


def differ_in_comments_alone(change: FileChange) -> bool:
    """Whether only comments differ, and none that a linter obeys."""
    before, after = change.before, change.after
    if not (before and after and change.path.endswith((".py", *COMMENTED))):
        return False
    bare = _code if change.path.endswith(".py") else _without_comments
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
