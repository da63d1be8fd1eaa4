"""Line and column of each field of a config.pbtxt, which protobuf's parser does not report."""

from collections import Counter

from google.protobuf import text_format

FieldPath = tuple[str | int, ...]
"""Field names and indices of repeated fields, such as `("input", 0, "dims")`. Map entries can also
be addressed by key: `("parameters", "max_length")`."""


def field_locations(text: str) -> dict[FieldPath, tuple[int, int]]:
    """Return the line and column, from 1, of each field of a valid protobuf text."""
    reader = _FieldReader(text)
    reader.read_message((), closing="")
    return reader.locations


def nearest_location(
    locations: dict[FieldPath, tuple[int, int]], path: FieldPath
) -> tuple[int, int] | None:
    """Return the location of a field, or of its nearest parent in the text.

    Index 0 may be omitted: `("ensemble_scheduling", "step", 1)`.
    """
    shortened = {_without_zeros(existing): location for existing, location in locations.items()}
    for length in range(len(path), 0, -1):
        if location := shortened.get(_without_zeros(path[:length])):
            return location
    return None


def _without_zeros(path: FieldPath) -> FieldPath:
    """Return a path without indices 0, except at its end."""
    return (*(step for step in path[:-1] if step != 0), *path[-1:])


class _FieldReader:
    """Reader of a protobuf text that records the location of each token."""

    def __init__(self, text: str) -> None:
        self.locations: dict[FieldPath, tuple[int, int]] = {}
        self._tokens = text_format.Tokenizer(text.split("\n"))

    def read_message(self, path: FieldPath, *, closing: str) -> None:
        """Read fields up to `closing`, or to the end of the text if `closing` is empty."""
        tokens, counts = self._tokens, Counter[str]()
        while not tokens.TryConsume(closing):
            if tokens.TryConsume(",") or tokens.TryConsume(";"):
                continue
            name, location = tokens.token, self._location()
            tokens.NextToken()
            self.locations.setdefault((*path, name), location)
            tokens.TryConsume(":")
            if tokens.TryConsume("["):
                while not tokens.TryConsume("]"):
                    if not tokens.TryConsume(","):
                        self._read_value((*path, name, counts[name]), self._location())
                        counts[name] += 1
            else:
                self._read_value((*path, name, counts[name]), location)
                counts[name] += 1

    def _read_value(self, path: FieldPath, location: tuple[int, int]) -> None:
        tokens = self._tokens
        self.locations[path] = location
        if tokens.TryConsume("{"):
            self.read_message(path, closing="}")
        elif tokens.TryConsume("<"):
            self.read_message(path, closing=">")
        elif tokens.token[0] not in "\"'":
            tokens.NextToken()
        else:
            value = tokens.ConsumeByteString().decode(errors="replace")
            if path[-2:] == ("key", 0):
                self.locations[*path[:-3], value] = self.locations[path[:-2]]

    def _location(self) -> tuple[int, int]:
        error = self._tokens.ParseError("")
        return error.GetLine(), error.GetColumn()
