"""Where each field of a config.pbtxt stands, which protobuf's parser does not keep."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from google.protobuf import text_encoding

FieldPath = tuple[str | int, ...]
"""`("input", 0, "dims")`: names, and indices of repeated fields. Entries of a map also stand under
their key: `("parameters", "max_length")`."""

_TOKEN = re.compile(
    r"""\#[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[{}\[\]<>:,;]|[^\s{}\[\]<>:,;"'\#]+"""
)
_CLOSING = {"{": "}", "<": ">"}


class _Token(NamedTuple):
    text: str
    line: int
    column: int


def field_places(text: str) -> dict[FieldPath, tuple[int, int]]:
    """Return the line and column, from 1, at which each field of a protobuf text begins.

    The text must be one that protobuf has parsed.
    """
    reader = _Reader(text)
    reader.read_message((), closing=None)
    return reader.places


def place_of(places: dict[FieldPath, tuple[int, int]], path: FieldPath) -> tuple[int, int] | None:
    """Return where a field stands, or the nearest one around it that is written.

    A field that is there once needs no index: `("ensemble_scheduling", "step", 1)`.
    """
    known = {_without_zeros(written): place for written, place in places.items()}
    for length in range(len(path), 0, -1):
        if place := known.get(_without_zeros(path[:length])):
            return place
    return None


def _without_zeros(path: FieldPath) -> FieldPath:
    """Leave out the indices of first elements, unless it is the element that is meant."""
    return (*(step for step in path[:-1] if step != 0), *path[-1:])


class _Reader:
    def __init__(self, text: str) -> None:
        self.places: dict[FieldPath, tuple[int, int]] = {}
        self._tokens = _tokens(text)
        self._next = next(self._tokens, None)

    def read_message(self, path: FieldPath, *, closing: str | None) -> None:
        """Read fields up to `closing`, or to the end."""
        seen = Counter[str]()
        while (token := self._take()) is not None and token.text != closing:
            if token.text in (",", ";"):
                continue
            name, place = token.text, (token.line, token.column)
            self.places.setdefault((*path, name), place)
            self._skip(":")
            if self._skip("["):
                while not self._skip("]"):
                    if not self._skip(","):
                        self._read_value((*path, name, seen[name]), None)
                        seen[name] += 1
            else:
                self._read_value((*path, name, seen[name]), place)
                seen[name] += 1

    def _read_value(self, path: FieldPath, place: tuple[int, int] | None) -> None:
        token = self._take()
        assert token is not None
        self.places[path] = place or (token.line, token.column)
        if token.text in _CLOSING:
            self.read_message(path, closing=_CLOSING[token.text])
        elif token.text[0] in "\"'":
            while self._next and self._next.text[0] in "\"'":  # protobuf joins them
                self._take()
        if path[-2:] == ("key", 0):
            key = text_encoding.CUnescape(token.text[1:-1]).decode(errors="replace")
            self.places[*path[:-3], key] = self.places[path[:-2]]

    def _take(self) -> _Token | None:
        token, self._next = self._next, next(self._tokens, None)
        return token

    def _skip(self, text: str) -> bool:
        if self._next is None or self._next.text != text:
            return False
        self._take()
        return True


def _tokens(text: str) -> Iterator[_Token]:
    line, line_start, last = 1, 0, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", last, match.start())
        if "\n" in text[last : match.start()]:
            line_start = text.rindex("\n", last, match.start()) + 1
        last = match.start()
        if not match[0].startswith("#"):
            yield _Token(match[0], line, match.start() - line_start + 1)
