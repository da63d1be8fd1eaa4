"""Loader of YAML files into pydantic models; one error lists all problems with their lines."""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

Model = TypeVar("Model", bound=BaseModel)
Keys = tuple[str | int, ...]
"""The path of a value, from the validated mapping or from the top of the file."""
MAX_DEPTH = 50
"""Maximum nesting of lists and mappings: more than any schema here, less than Python's stack."""


@dataclass(frozen=True)
class FileProblem:
    """A problem in a file: `line` counts from 1, `key` is dotted (`endpoints.text`)."""

    path: Path
    line: int
    key: str
    message: str

    def __str__(self) -> str:
        path, folder = self.path, Path.cwd()
        path = path.relative_to(folder) if path.is_relative_to(folder) else path
        return ": ".join(filter(None, (f"{path}:{self.line}", self.key, self.message)))


class InvalidFile(ValueError):
    """A file that does not match its schema; `problems` are sorted by line."""

    def __init__(self, problems: Iterable[FileProblem]) -> None:
        self.problems = sorted(problems, key=lambda problem: problem.line)
        super().__init__("\n".join(map(str, self.problems)))


class LocatedErrors(ValueError):
    """Invalid values, each with its path and a message.

    Raised by validators of schemas, and by code that uses the values later.
    """

    def __init__(self, errors: Iterable[tuple[Keys, str]]) -> None:
        self.errors = [*errors]
        super().__init__("; ".join(message for _, message in self.errors))


@dataclass(frozen=True)
class YamlFile:
    """A YAML file that was read: `content` is its value, `root` has the lines of its keys."""

    path: Path
    root: yaml.MappingNode
    content: dict[str, Any]

    @classmethod
    def read(cls, path: Path, content: bytes) -> Self:
        """Return the file at `path` with `content`. Raise `InvalidFile` unless it is a mapping."""
        return cls(path, *_read(path, content))

    def validate(self, schema: type[Model], content: Any = None) -> Model:
        """Return `content`, by default the file's, as a `schema`. Raise `InvalidFile`."""
        try:
            return schema.model_validate(self.content if content is None else content)
        except ValidationError as error:
            raise InvalidFile(
                self.problem((*detail["loc"], *keys), message)
                for detail in error.errors()
                for keys, message in _messages(detail, schema)
            ) from None

    def problem(self, keys: Keys, message: str) -> FileProblem:
        """Return a problem of the value at `keys`."""
        return FileProblem(self.path, *_locate(self.root, keys), message)


def load(path: Path, schema: type[Model]) -> Model:
    """Return the content of the file at `path` as a `schema`.

    Raise `InvalidFile` with every problem of the file, and `OSError` if it cannot be read.
    `UNSUPPORTED_KEYS` of a schema maps keys that users may expect to an alternative.
    """
    return parse(path, path.read_bytes(), schema)


def parse(path: Path, content: bytes, schema: type[Model]) -> Model:
    """Return the content of the file at `path` as a `schema`. Raise `InvalidFile`."""
    return YamlFile.read(path, content).validate(schema)


@contextmanager
def at_lines_of(path: Path) -> Iterator[None]:
    """Raise `LocatedErrors`, with keys from the top of the file at `path`, as `InvalidFile`."""
    try:
        yield
    except LocatedErrors as error:
        raise InvalidFile(
            FileProblem(path, line_of(path, *keys), ".".join(map(str, keys)), message)
            for keys, message in error.errors
        ) from None


def line_of(path: Path, *keys: str | int) -> int:
    """Return the line number (from 1) of the value at `keys` in a valid file.

    If a key is missing, return the line of the last existing key.
    """
    return _locate(_read(path, path.read_bytes())[0], keys)[0]


class _Loader(yaml.SafeLoader):
    """A YAML loader that collects invalid keys and values, such as unknown tags."""

    def __init__(self, path: Path, content: str) -> None:
        self.problems: list[FileProblem] = []
        self._path, self._trail = path, list[str]()
        super().__init__(content)

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node; `index` is its number in a list, its key in a mapping, or None."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        is_key, depth = parent is not None and index is None, len(self._trail)
        if depth > MAX_DEPTH:
            raise RecursionError
        self._trail += [] if index is None else [str(getattr(index, "value", index))]
        node: Any = super().compose_node(parent, index)
        self._trail += [node.value] if is_key and isinstance(node, yaml.ScalarNode) else []
        if reason := _key_problem(node, parent) if is_key else self._value_problem(node):
            line = event.start_mark.line + 1
            self.problems.append(FileProblem(self._path, line, ".".join(self._trail), reason))
        del self._trail[depth:]
        return node

    def _value_problem(self, node: yaml.Node) -> str:
        if node.tag not in self.yaml_constructors:
            return f"unknown tag {node.tag}: remove it"
        try:
            if isinstance(node, yaml.ScalarNode):
                self.construct_object(node)
        except Exception:  # PyYAML does not convert errors of int, datetime and other types
            kind = node.tag.rpartition(":")[2]
            return f"{node.value!r} is not of type {kind}: write it in quotes"
        return ""


def _key_problem(key: yaml.Node, mapping: yaml.MappingNode) -> str:
    if not isinstance(key, yaml.ScalarNode):
        return "a key is a list or mapping: write a text"
    kind = key.tag.rpartition(":")[2]
    if kind not in ("str", "merge", "value"):  # `<<` merges, `=` is read as text
        return f"the key is of type {kind}, not text: write it in quotes"
    is_duplicate = key.value in [other_key.value for other_key, _ in mapping.value]
    return "duplicate key: keep one" if is_duplicate else ""


def _read(path: Path, content: bytes) -> tuple[yaml.MappingNode, Any]:
    """Return the nodes of a file (with line numbers) and its value."""
    text = content.decode("utf-8", errors="surrogateescape")
    line, reason = 1, "write a mapping of keys to values"
    try:
        loader = _Loader(path, text)
        node = loader.get_single_node()
        if loader.problems:
            raise InvalidFile(loader.problems)
        if isinstance(node, yaml.MappingNode):
            return node, loader.construct_document(node)
    except RecursionError:
        reason = "lists and mappings are nested too deeply: write fewer levels"
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        reason = "a character is not UTF-8, or not allowed in YAML: save the file as UTF-8"
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        reason = f"not YAML: {error.problem}"
    raise InvalidFile([FileProblem(path, line, "", reason)])


def _locate(root: yaml.Node, keys: Keys) -> tuple[int, str]:
    """Return the line and the dotted key of a value.

    pydantic's locations also contain tags of unions and missing keys, which are not in the file and
    do not change the line. Only a missing key at the end is part of the dotted key.
    """
    node, line, trail = root, root.start_mark.line + 1, list[str]()
    for position, step in enumerate(map(str, keys), 1):
        is_mapping = isinstance(node, yaml.MappingNode)
        children = node.value if isinstance(node, yaml.CollectionNode) else []
        pairs = children if is_mapping else [(child, child) for child in children]
        names = [str(key.value if is_mapping else number) for number, (key, _) in enumerate(pairs)]
        if step in names:
            key, node = pairs[names.index(step)]
            line = key.start_mark.line + 1
        if step in names or (is_mapping and position == len(keys) and step != "[key]"):
            trail.append(step)  # pydantic adds "[key]" for an invalid key
    return line, ".".join(trail)


def _messages(detail: ErrorDetails, schema: type[BaseModel]) -> list[tuple[Keys, str]]:
    error = detail.get("ctx", {}).get("error")
    return error.errors if isinstance(error, LocatedErrors) else [((), _message(detail, schema))]


_MESSAGES = {
    "missing": "missing: add this key",
    "too_short": "has {actual_length} entries: write {min_length} or more",
    "too_long": "has {actual_length} entries: write {max_length} or fewer",
    "dict": "write keys below it, each with its value, not {}",
    "model": "write keys below it, each with its value, not {}",
    "bool": "write true or false, not {}",
    "string_type": "write a text in quotes, not {}",
    "greater_than_equal": "{} is out of range: write {ge:g} or more",
    "greater_than": "{} is out of range: write more than {gt:g}",
    "less_than_equal": "{} is out of range: write {le:g} or less",
    "value_error": "{error}",
    "union_tag_not_found": "missing: write {discriminator}, and the keys that belong to it",
    "union_tag_invalid": "{discriminator} is '{tag}'; write one of {expected_tags}",
}
"""Messages by error type of pydantic, or by its first word."""


def _message(detail: ErrorDetails, schema: type[BaseModel]) -> str:
    value, keys, error_type = detail["input"], detail["loc"], detail["type"]
    first_word = error_type.split("_")[0]
    if first_word == "extra":
        unsupported = getattr(schema, "UNSUPPORTED_KEYS", {})
        for name in (".".join(map(str, keys)), str(keys[-1])):
            if name in unsupported:
                return f"not supported; {unsupported[name]}"
        allowed = list(_schema_at(schema, keys[:-1]).get("properties", {}))
        close = difflib.get_close_matches(str(keys[-1]), allowed, n=1)
        hint = f"write {close[0]}" if close else f"known keys: {', '.join(sorted(allowed))}"
        return f"unknown key; {hint}"
    value_text = "nothing" if value is None else repr(value)
    if template := _MESSAGES.get(error_type) or _MESSAGES.get(first_word):
        return template.format(value_text, **detail.get("ctx", {}))
    text = detail["msg"].replace("Input should be", "write")
    return f"{text[0].lower()}{text[1:]}, not {value_text}"


def _schema_at(schema: type[BaseModel], location: Keys) -> dict[str, Any]:
    """Return the JSON schema of the value at a location in a pydantic error."""
    root = schema.model_json_schema()
    node = _resolve(root, root)
    for step in map(str, location):
        tagged = node.get("discriminator", {}).get("mapping", {})
        named = {tag: {"$ref": name} for tag, name in tagged.items()} | node.get("properties", {})
        patterns = node.get("patternProperties", {}).values()
        any_key = [*patterns, node.get("additionalProperties"), node.get("items"), node]
        child = named.get(step) or next(schema for schema in any_key if isinstance(schema, dict))
        node = _resolve(child, root)
    return node


def _resolve(node: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """Return the schema to which a node refers; for an optional value, that of its type."""
    for candidate in node.get("anyOf", []):
        if candidate.get("type") != "null":
            return _resolve(candidate, root)
    if reference := node.get("$ref"):
        return _resolve(root["$defs"][reference.rpartition("/")[2]], root)
    return node
