"""The place of each field of a config.pbtxt, which protobuf's parser does not keep."""

from collections import Counter

from google.protobuf import text_format

FieldPath = tuple[str | int, ...]
"""`("input", 0, "dims")`: names, and indices of repeated fields. Entries of a map also stand under
their key: `("parameters", "max_length")`."""


def field_places(text: str) -> dict[FieldPath, tuple[int, int]]:
    """Return the line and column, from 1, at which each field of a protobuf text begins.

    The text must be one that protobuf has parsed.
    """
    reader = _Reader(text)
    reader.read_message((), closing="")
    return reader.places


def nearest_place(
    places: dict[FieldPath, tuple[int, int]], path: FieldPath
) -> tuple[int, int] | None:
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
    """Reads a text with protobuf's tokenizer, which knows the place of each token."""

    def __init__(self, text: str) -> None:
        self.places: dict[FieldPath, tuple[int, int]] = {}
        self._tokens = text_format.Tokenizer(text.split("\n"))

    def read_message(self, path: FieldPath, *, closing: str) -> None:
        """Read fields up to `closing`, which is empty for the end of the text."""
        tokens, counts = self._tokens, Counter[str]()
        while not tokens.TryConsume(closing):
            if tokens.TryConsume(",") or tokens.TryConsume(";"):
                continue
            name, place = tokens.token, self._place()
            tokens.NextToken()
            self.places.setdefault((*path, name), place)
            tokens.TryConsume(":")
            if tokens.TryConsume("["):
                while not tokens.TryConsume("]"):
                    if not tokens.TryConsume(","):
                        self._read_value((*path, name, counts[name]), self._place())
                        counts[name] += 1
            else:
                self._read_value((*path, name, counts[name]), place)
                counts[name] += 1

    def _read_value(self, path: FieldPath, place: tuple[int, int]) -> None:
        tokens = self._tokens
        self.places[path] = place
        if tokens.TryConsume("{"):
            self.read_message(path, closing="}")
        elif tokens.TryConsume("<"):
            self.read_message(path, closing=">")
        elif tokens.token[0] not in "\"'":
            tokens.NextToken()
        else:
            value = tokens.ConsumeByteString().decode(errors="replace")
            if path[-2:] == ("key", 0):
                self.places[*path[:-3], value] = self.places[path[:-2]]

    def _place(self) -> tuple[int, int]:
        error = self._tokens.ParseError("")
        return error.GetLine(), error.GetColumn()
