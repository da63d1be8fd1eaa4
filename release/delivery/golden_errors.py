"""What is wrong in a `golden.json`, in words, with its line."""

import json
from collections.abc import Sequence

import yaml
from pydantic import ValidationError

VALUE = "write a number, true, false or a text"
_WORDS = {
    "missing": "missing: add this key",
    "extra_forbidden": "unknown key: remove it",
    "too_short": "is empty: add one",
}
"""By pydantic's types of errors."""


def decoded(content: bytes) -> str:
    """Return a file's text. Raises `ValueError` with `LINE: what is wrong` where it is no JSON."""
    try:
        text = content.decode()
        json.loads(text)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{line}: is not UTF-8: save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.lineno}: not JSON: {error.msg}") from None
    return text


def told(text: str, error: ValidationError) -> list[str]:
    """Return `LINE: key: what is wrong` for each place of a JSON text that a schema refuses."""
    readable = yaml.reader.Reader.NON_PRINTABLE.sub(" ", text.replace("\t", " "))
    root = yaml.compose(readable, Loader=yaml.SafeLoader)  # JSON with its lines
    assert root is not None
    found: dict[tuple[int, str], str] = {}
    for detail in error.errors():
        line, trail, beyond = _located(root, detail["loc"])
        message = f"{detail['msg'][0].lower()}{detail['msg'][1:]}, not {detail['input']!r:.60}"
        if detail["type"] in _WORDS:
            message = _WORDS[detail["type"]]
        elif beyond:  # pydantic's name of one of the types that a value may have
            message = f"{VALUE}, not {detail['input']!r:.60}"
        key = ".".join([*trail, *beyond] if detail["type"] == "missing" else trail)
        found.setdefault((line, key), message)
    return [
        f"{line}: {key}: {message}" if key else f"{line}: {message}"
        for (line, key), message in sorted(found.items())
    ]


def _located(root: yaml.Node, location: Sequence[int | str]) -> tuple[int, list[str], list[str]]:
    """Follow a location; return its line, the steps that lead there, and those beyond the text."""
    steps = [str(it) for it in location]
    node, line = root, root.start_mark.line + 1
    for position, step in enumerate(steps):
        inside: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        if isinstance(node, yaml.MappingNode):
            inside = {key.value: (key, value) for key, value in node.value}
        elif isinstance(node, yaml.SequenceNode):
            inside = {str(index): (item, item) for index, item in enumerate(node.value)}
        if step not in inside:
            return line, steps[:position], steps[position:]
        at, node = inside[step]
        line = at.start_mark.line + 1
    return line, steps, []
