"""Read one YAML file into a pydantic model; raise one error that lists all that is wrong."""

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a file: `line` counts from 1, `key` is dotted (`endpoints.text`)."""

    path: Path
    line: int
    key: str
    message: str

    def __str__(self) -> str:
        inside = self.path.is_relative_to(Path.cwd())
        where = f"{self.path.relative_to(Path.cwd()) if inside else self.path}:{self.line}"
        return f"{where}: {self.key}: {self.message}" if self.key else f"{where}: {self.message}"


class InvalidFile(ValueError):
    """A file does not say what its schema asks for; `problems` has every reason, in file order."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = sorted(problems, key=lambda problem: problem.line)
        super().__init__("\n".join(map(str, self.problems)))


Keys = tuple[str | int, ...]
"""Where something stands, from where a validator stands, or from the top of the file."""


class Misfits(ValueError):
    """What is wrong in several places at once, each with its keys.

    A schema's validators raise it, and whoever sees later what a value of the file leads to.
    """

    def __init__(self, found: list[tuple[Keys, str]]) -> None:
        self.found = found
        super().__init__("; ".join(message for _, message in found))


def load(path: Path, schema: type[Model]) -> Model:
    """Return the file at `path` as a `schema`.

    Raises `InvalidFile` with every problem of the file, and `OSError` when it cannot be read.
    """
    node = _compose(path, _text(path))
    if not isinstance(node, yaml.MappingNode):
        raise InvalidFile([Problem(path, 1, "", "write a mapping of keys to values")])
    wrong = [
        Problem(path, place.start_mark.line + 1, ".".join(trail), message)
        for place, trail, message in _unreadable(node, [], {})
    ]
    if wrong:
        raise InvalidFile(wrong)
    try:
        return schema.model_validate(_construct(path, node))
    except ValidationError as error:
        details = error.errors()
        raise InvalidFile(
            [it for detail in details for it in _problems(path, node, detail, schema)]
        ) from None


@contextmanager
def naming_lines(path: Path) -> Iterator[None]:
    """Raise `Misfits` that are found later, by keys from the top of `path`, as `InvalidFile`."""
    try:
        yield
    except Misfits as error:
        raise InvalidFile(
            [
                Problem(path, line_of(path, *keys), ".".join(map(str, keys)), message)
                for keys, message in error.found
            ]
        ) from None


def line_of(path: Path, *keys: str | int) -> int:
    """Return the line, from 1, of what stands under `keys` in a file that `load` has read.

    Where the keys lead out of the file, it is the line of the last one that is in it.
    """
    node = _compose(path, _text(path))
    assert node is not None
    return _locate(node, keys)[0]


MAX_DEPTH = 50
"""Levels of lists and mappings: far more than a schema of ours has, far fewer than Python calls."""


def _text(path: Path) -> str:
    content = path.read_bytes()
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        reason = f"byte 0x{content[error.start]:02x} is not UTF-8: save the file as UTF-8"
        raise InvalidFile([Problem(path, line, "", reason)]) from None


def _compose(path: Path, text: str) -> yaml.Node | None:
    try:
        _refuse_depths(path, text)
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(path, error) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        reason = f"YAML has no character U+{ord(text[error.position]):04X}: remove it"
        raise InvalidFile([Problem(path, line, "", reason)]) from None


def _refuse_depths(path: Path, text: str) -> None:
    """Raise `InvalidFile` for what only recursion without end could compose."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            line = event.start_mark.line + 1 if event.start_mark else 1
            reason = f"lists and mappings stand in each other {depth} levels deep: write fewer"
            raise InvalidFile([Problem(path, line, "", reason)])


def _construct(path: Path, node: yaml.Node) -> Any:
    try:
        return yaml.SafeLoader("").construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(path, error) from None


def _not_yaml(path: Path, error: yaml.MarkedYAMLError) -> InvalidFile:
    line = error.problem_mark.line + 1 if error.problem_mark else 1
    return InvalidFile([Problem(path, line, "", f"not YAML: {error.problem}")])


_TEXT_KEYS = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge", "tag:yaml.org,2002:value")
"""The types of a plain key, of the merge key `<<`, and of `=`, which is read as text."""
_Unreadable = Iterator[tuple[yaml.Node, list[str], str]]
"""Where, under which keys, and what is wrong."""


def _unreadable(node: yaml.Node, trail: list[str], finished: dict[int, bool]) -> _Unreadable:
    """What is YAML, but has no value that a schema could judge.

    `finished` has the nodes that were met, by id: an alias leads to one of them again.
    """
    if finished.get(id(node)) is False:
        yield node, trail, "holds itself through an alias: write the values out"
    elif id(node) not in finished:
        finished[id(node)] = False
        yield from _unreadable_itself(node, trail)
        for step, child in _children(node):
            yield from _unreadable(child, [*trail, step], finished)
        finished[id(node)] = True


def _unreadable_itself(node: yaml.Node, trail: list[str]) -> _Unreadable:
    if node.tag not in yaml.SafeLoader.yaml_constructors:
        yield node, trail, f"unknown tag {node.tag}: remove it"
    elif isinstance(node, yaml.MappingNode):
        yield from _wrong_keys(node, trail)
    elif isinstance(node, yaml.ScalarNode):
        try:
            yaml.SafeLoader("").construct_object(node)
        except Exception:  # PyYAML hands int's and datetime's own errors through, and others
            yield node, trail, f"{node.value!r} is not of type {_kind(node)}: write it in quotes"


def _wrong_keys(node: yaml.MappingNode, trail: list[str]) -> _Unreadable:
    seen = set[str]()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            yield key, trail, "a key is a list or mapping: write a text"
        elif key.tag not in _TEXT_KEYS:
            reason = f"the key is of type {_kind(key)}, not text: write it in quotes"
            yield key, [*trail, key.value], reason
        elif key.value in seen:
            yield key, [*trail, key.value], "is there twice: keep one"
        else:
            seen.add(key.value)


def _kind(node: yaml.Node) -> str:
    return str(node.tag.rpartition(":")[2])


def _children(node: yaml.Node) -> list[tuple[str, yaml.Node]]:
    if isinstance(node, yaml.SequenceNode):
        return [(str(index), item) for index, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        return [(str(key.value), value) for key, value in node.value]
    return []


def _problems(
    path: Path, root: yaml.Node, detail: ErrorDetails, schema: type[BaseModel]
) -> Iterator[Problem]:
    error = detail.get("ctx", {}).get("error")
    found = error.found if isinstance(error, Misfits) else [((), _message(detail, schema))]
    for keys, message in found:
        line, trail = _locate(root, (*detail["loc"], *keys))
        yield Problem(path, line, ".".join(trail), message)


def _locate(root: yaml.Node, location: tuple[int | str, ...]) -> tuple[int, list[str]]:
    """Follow pydantic's location into the document, as far as the document goes.

    A location also holds what no document has (a union's tag, a missing key): those steps are
    named in the trail where they help a reader, and do not move the line.
    """
    node, line, trail = root, root.start_mark.line + 1, list[str]()
    for position, step in enumerate(location):
        if isinstance(node, yaml.MappingNode):
            match = next(((k, v) for k, v in node.value if k.value == str(step)), None)
            if match:
                line, node = match[0].start_mark.line + 1, match[1]
                trail.append(str(step))
            elif position == len(location) - 1 and step != "[key]":  # pydantic's, for a wrong key
                trail.append(str(step))
        elif (
            isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value)
        ):
            node = node.value[step]
            line = node.start_mark.line + 1
            trail.append(str(step))
    return line, trail


def _message(detail: ErrorDetails, schema: type[BaseModel]) -> str:
    match detail["type"]:
        case "extra_forbidden":
            allowed = _fields_beside(schema, detail["loc"])
            close = difflib.get_close_matches(str(detail["loc"][-1]), allowed, n=1)
            hint = f"write {close[0]}" if close else f"known keys: {', '.join(sorted(allowed))}"
            return f"unknown key; {hint}"
        case "missing":
            return "missing: add this key"
        case "too_short" if not detail["input"]:
            return "is empty: add one"
        case "union_tag_not_found":
            key = str(detail["ctx"]["discriminator"]).strip("'")
            known = ", ".join(_tags_at(schema, detail["loc"]))
            return f"missing: write `{key}` as one of {known}"
        case "union_tag_invalid":
            key = str(detail["ctx"]["discriminator"]).strip("'")
            known = str(detail["ctx"]["expected_tags"]).replace("'", "")
            return f"{key} is '{detail['ctx']['tag']}'; write one of {known}"
        case "value_error":
            return detail["msg"].removeprefix("Value error, ")
        case "greater_than" | "greater_than_equal" | "less_than" | "less_than_equal":
            return f"{detail['input']} is out of range: write {_range_at(schema, detail['loc'])}"
        case "model_type" | "model_attributes_type":
            some = ", ".join(_first_keys(schema, detail["loc"]))
            return f"write keys below it, such as {some}, not {_written(detail['input'])}"
        case "dict_type":
            return f"write keys below it, each with its value, not {_written(detail['input'])}"
        case "int_type" | "int_parsing" | "int_from_float":
            return f"write a whole number, not {_written(detail['input'])}"
        case "float_type" | "float_parsing":
            return f"write a number, not {_written(detail['input'])}"
        case "bool_type" | "bool_parsing":
            return f"write true or false, not {_written(detail['input'])}"
        case "string_type" if isinstance(detail["input"], int | float | date):
            return f"{_plain(detail)}: write it in quotes"
        case _:
            return _plain(detail)


def _plain(detail: ErrorDetails) -> str:
    return f"{detail['msg'][0].lower()}{detail['msg'][1:]}, not {detail['input']!r}"


def _written(value: object) -> str:
    """A value as the file has it, where Python writes it otherwise."""
    if isinstance(value, bool):
        return str(value).lower()
    return "nothing" if value is None else repr(value)


def _first_keys(schema: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The keys that must stand below `location`; the first two that may, where none must.

    Of a union, it is the key that tells its members apart.
    """
    here = _schema_at(schema, location)
    if "discriminator" in here:
        return [here["discriminator"]["propertyName"]]
    return here.get("required") or list(here["properties"])[:2]


def _fields_beside(schema: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The keys that the schema allows where the last step of `location` stands."""
    return list(_schema_at(schema, location[:-1]).get("properties", {}))


def _tags_at(schema: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The values by which a union tells its members apart."""
    return list(_schema_at(schema, location).get("discriminator", {}).get("mapping", {}))


def _range_at(schema: type[BaseModel], location: tuple[int | str, ...]) -> str:
    """The numbers that the schema allows, in words: `1 to 50`, `1 or more`, `more than 0`."""
    here = _schema_at(schema, location)
    above, least, most = (here.get(it) for it in ("exclusiveMinimum", "minimum", "maximum"))
    if least is not None:
        return f"{least} or more" if most is None else f"{least} to {most}"
    return f"more than {above}" if most is None else f"more than {above}, at most {most}"


def _schema_at(schema: type[BaseModel], location: tuple[int | str, ...]) -> dict[str, Any]:
    definitions = schema.model_json_schema()
    here = _dereference(definitions, definitions)
    for step in location:
        here = _dereference(_step_into(here, str(step), definitions), definitions)
    return here


def _step_into(here: dict[str, Any], step: str, definitions: dict[str, Any]) -> dict[str, Any]:
    if step in here.get("properties", {}):
        return dict(here["properties"][step])
    tagged = here.get("discriminator", {}).get("mapping", {})
    if step in tagged:
        return _dereference({"$ref": tagged[step]}, definitions)
    for child in (*here.get("patternProperties", {}).values(), here.get("additionalProperties")):
        if isinstance(child, dict):
            return child
    return dict(here.get("items", here))


def _dereference(here: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    for candidate in here.get("anyOf", []):
        if candidate.get("type") != "null":  # of an optional key, the part that is not None
            return _dereference(candidate, definitions)
    if reference := here.get("$ref"):
        return _dereference(definitions["$defs"][reference.removeprefix("#/$defs/")], definitions)
    return here
