"""Repositories with the findings that the linter reports for them."""

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

Content = str | bytes | Callable[[], bytes]
Files = dict[str, Content]
"""Path -> content; a path with a slash at the end is an empty folder."""


@dataclass(frozen=True)
class Link:
    """A symbolic link instead of a file."""

    target: str


Change = Content | Link | dict[str, str] | None
"""New content of a file; a dict of old text -> new text; or None to remove the file."""


@dataclass(frozen=True)
class Case:
    """The repository `base` with `changes`, and all lines that lint prints for it.

    A message need not have the end of the text before its rule, and "..." stands for any text.
    `release` is the Triton release that serves the repository.
    """

    name: str
    base: Files
    changes: Mapping[str, Change]
    messages: list[str]
    release: str

    def expected(self, printed: list[str]) -> list[str]:
        """Return the messages, each replaced by the printed line that it stands for."""
        return [
            line if _fits(message, line) else message
            for message, line in itertools.zip_longest(self.messages, printed, fillvalue="")
            if message
        ]

    def write(self, folder: Path) -> None:
        """Write the repository."""
        files: dict[str, Change] = {**self.base}
        for path, change in self.changes.items():
            if isinstance(change, dict):
                files[path] = _replace_text(self.base[path], change)
            else:
                files[path] = change
        for path, content in files.items():
            _write(folder / path, content, is_folder=path.endswith("/"))


def case(
    name: str, base: Files, changes: Mapping[str, Change], *messages: str, release: str = "25.09"
) -> Case:
    """Return a case; `changes` maps a file to its `Change`, such as {old text: new text}."""
    return Case(name, base, changes, list(messages), release)


def _fits(message: str, line: str) -> bool:
    text, rule = message.rsplit(" [", 1)
    pattern = ".*".join(map(re.escape, text.split(" ... ")))
    return bool(re.fullmatch(rf"{pattern}.* \[{re.escape(rule)}", line))


def _replace_text(text: Content, pieces: dict[str, str]) -> str:
    assert isinstance(text, str)
    for old_text in pieces:
        assert text.count(old_text) == 1, f"{old_text!r} occurs {text.count(old_text)} times"
    return re.sub("|".join(map(re.escape, pieces)), lambda match: pieces[match[0]], text)


def _write(path: Path, content: Change, *, is_folder: bool) -> None:
    if content is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if is_folder:
        path.mkdir()
    elif isinstance(content, Link):
        path.symlink_to(content.target)
    else:
        assert not isinstance(content, dict)
        data = content() if callable(content) else content
        path.write_bytes(data.encode() if isinstance(data, str) else data)
