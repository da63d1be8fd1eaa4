"""One repository, and what the linter says of it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

Content = str | bytes | Callable[[], bytes]
Files = dict[str, Content]
"""Path -> content. A path that ends in a slash is an empty folder."""


@dataclass(frozen=True)
class Link:
    """A symbolic link in a file's place."""

    to: str


Change = Content | Link | dict[str, str] | None
"""Another content; pieces of text and what stands there instead; or None, for no such file."""


@dataclass(frozen=True)
class Case:
    """`base` with the `changes`, of which lint prints the lines `told`, no more and no less.

    `name` is a sentence, `release` the Triton that is to serve it.
    """

    name: str
    base: Files
    changes: Mapping[str, Change]
    messages: list[str]
    release: str = "25.09"

    def write(self, folder: Path) -> None:
        """Write the repository."""
        files: dict[str, Change] = {**self.base}
        for path, change in self.changes.items():
            if isinstance(change, dict):
                files[path] = _replaced(self.base[path], change)
            else:
                files[path] = change
        for path, content in files.items():
            _write(folder / path, content, is_folder=path.endswith("/"))


def _replaced(text: Content, pieces: dict[str, str]) -> str:
    assert isinstance(text, str)
    for old in pieces:
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    return re.sub("|".join(map(re.escape, pieces)), lambda result: pieces[result[0]], text)


def _write(path: Path, content: Change, *, is_folder: bool) -> None:
    if content is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if is_folder:
        path.mkdir()
    elif isinstance(content, Link):
        path.symlink_to(content.to)
    else:
        assert not isinstance(content, dict)
        written = content() if callable(content) else content
        path.write_bytes(written.encode() if isinstance(written, str) else written)
