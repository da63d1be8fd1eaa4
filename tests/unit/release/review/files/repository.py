"""The files of this repository, and changes of them."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from release.review.files.file_review import FileReview, compare_files
from release.tree import Tree

ROOT = Path(__file__).parents[5]
Edit = tuple[str, str, str]
"""A path, a text in it, and what is there afterwards; without a text, the whole file, deleted where
it is empty."""


@cache
def base() -> dict[str, bytes]:
    """Return the files that git tracks."""
    return Tree(ROOT).files()


def changed(edits: tuple[Edit, ...], files: Mapping[str, bytes] | None = None) -> dict[str, bytes]:
    """Return all files after edits; every text must be there once at least."""
    head = dict(base() if files is None else files)
    for path, old, new in edits:
        content = new
        if old:
            assert old in head[path].decode(), (path, old)
            content = head[path].decode().replace(old, new, 1)
        if content or old:
            head[path] = content.encode()
        else:
            del head[path]
    return head


def review(*edits: Edit) -> FileReview:
    """Review a change of this repository's files."""
    return compare_files(base(), changed(edits))
