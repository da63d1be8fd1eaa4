"""Detection of changes that affect only comments."""

import ast
import re
from contextlib import suppress

from release.review.files.file_change import FileChange

COMMENTED = (".in", ".sh", "CODEOWNERS", "Makefile")
"""Suffixes of files with # comments."""

SILENCING = (b"fmt:", b"noqa", b"nosec", b"pragma", b"skip", b"type: ignore")
"""Words in comments that make linters skip code."""


def differ_in_comments_alone(change: FileChange) -> bool:
    """Return whether only comments differ, and no comment for linters."""
    before, after = change.before, change.after
    if not (before and after and change.path.endswith((".py", *COMMENTED))):
        return False
    bare = _code if change.path.endswith(".py") else _without_comments
    silenced = [[side.count(word) for word in SILENCING] for side in (before, after)]
    return bare(before) == bare(after) != "" and silenced[0] == silenced[1]


def _code(content: bytes) -> str:
    """Return a Python module without comments and docstrings, empty if it is not Python."""
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
    """Return a text without comment lines; unchanged if a line with # may not be a comment.

    That is a line after a backslash, or a line of a here-document.
    """
    text = content.decode(errors="replace")
    if re.search(r"\\\n[ \t]*#|<<", text):
        return text
    lines = [line.rstrip() for line in text.splitlines()]
    code = (line for line in lines if line[:2] == "#!" or line.lstrip()[:1] not in ("", "#"))
    return "\n".join(code)
