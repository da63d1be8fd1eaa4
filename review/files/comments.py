"""Detection of changes that affect only comments."""

import ast
import re
from contextlib import suppress

from review.files.file_change import FileChange

HASH_COMMENT_SUFFIXES = (".in", ".sh", "CODEOWNERS", "Makefile")
"""Suffixes of files, other than Python, whose comments begin with #."""

SUPPRESSIONS = (b"fmt:", b"noqa", b"nosec", b"pragma", b"skip", b"type: ignore")
"""Words in comments that make linters skip code."""


def has_only_comment_changes(change: FileChange) -> bool:
    """Return whether only comments differ, none of which makes linters skip code."""
    before, after = change.before, change.after
    if not (before and after and change.path.endswith((".py", *HASH_COMMENT_SUFFIXES))):
        return False
    remove_comments = _python_code if change.path.endswith(".py") else _without_comment_lines
    old_counts, new_counts = (
        [side.count(word) for word in SUPPRESSIONS] for side in (before, after)
    )
    code = remove_comments(before)
    return code != "" and code == remove_comments(after) and old_counts == new_counts


def _python_code(content: bytes) -> str:
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


def _without_comment_lines(content: bytes) -> str:
    """Return a text without lines that begin with #.

    The text is unchanged if such a line may not be a comment: after a line that ends with a
    backslash, or in a here-document.
    """
    text = content.decode(errors="replace")
    if re.search(r"\\\n[ \t]*#|<<", text):
        return text
    lines = [line.rstrip() for line in text.splitlines()]
    code = (line for line in lines if line[:2] == "#!" or line.lstrip()[:1] not in ("", "#"))
    return "\n".join(code)
