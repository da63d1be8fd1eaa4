"""Reviews of changes of this repository's files."""

from functools import cache
from pathlib import Path

from release.checkout import Checkout
from review.files.file_review import FileReview, compare_files

ROOT = Path(__file__).parents[4]
Edit = tuple[str, str, str]
"""Path, old text and new text.

An empty old text replaces the whole file by the new text; if both are empty, the file is deleted.
"""


@cache
def base() -> dict[str, bytes]:
    """Return the files that git tracks."""
    return Checkout(ROOT).files()


def review(*edits: Edit) -> FileReview:
    """Review a change of this repository's files; each old text must exist."""
    head = dict(base())
    for path, old, new in edits:
        content = new
        if old:
            assert old in head[path].decode(), (path, old)
            content = head[path].decode().replace(old, new, 1)
        if content or old:
            head[path] = content.encode()
        else:
            del head[path]
    return compare_files(base(), head)
