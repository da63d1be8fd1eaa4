"""Read one YAML file into a pydantic model; raise one error that lists all that is wrong."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
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


def load(path: Path, schema: type[Model]) -> Model:
    """Return the file at `path` as a `schema`.

    Raises `InvalidFile` with every problem of the file, and `OSError` when it cannot be read.
    """
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InvalidFile([Problem(path, line, "", f"not YAML: {error.problem}")]) from None
    if not isinstance(node, yaml.MappingNode):
        raise InvalidFile([Problem(path, 1, "", "write a mapping of keys to values")])
    duplicates = [
        Problem(path, key.start_mark.line + 1, dotted, "stands twice: keep one")
        for key, dotted in _duplicate_keys(node)
    ]
    if duplicates:
        raise InvalidFile(duplicates)
    data = yaml.SafeLoader("").construct_document(node)
    try:
        return schema.model_validate(data)
    except ValidationError as error:
        problems = [_problem(path, node, detail, schema) for detail in error.errors()]
        raise InvalidFile(problems) from None


def _duplicate_keys(node: yaml.Node, prefix: str = "") -> Iterator[tuple[yaml.Node, str]]:
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _duplicate_keys(item, prefix)
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            dotted = f"{prefix}{key.value}"
            if key.value in seen:
                yield key, dotted
            seen.add(key.value)
            yield from _duplicate_keys(value, f"{dotted}.")


def _problem(path: Path, root: yaml.Node, detail: ErrorDetails, schema: type[BaseModel]) -> Problem:
    line, trail = _locate(root, detail["loc"])
    return Problem(path, line, ".".join(trail), _message(detail, schema))


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
            elif position == len(location) - 1:
                trail.append(str(step))
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
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
        case "union_tag_invalid":
            key = str(detail["ctx"]["discriminator"]).strip("'")
            known = str(detail["ctx"]["expected_tags"]).replace("'", "")
            return f"{key} is '{detail['ctx']['tag']}'; write one of {known}"
        case "value_error":
            return detail["msg"].removeprefix("Value error, ")
        case _:
            return f"{detail['msg'][0].lower()}{detail['msg'][1:]}, not {detail['input']!r}"


def _fields_beside(schema: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The keys that the schema allows where the last step of `location` stands."""
    definitions = schema.model_json_schema()
    here: dict[str, Any] = definitions
    for step in location[:-1]:
        here = _step_into(_dereference(here, definitions), str(step), definitions)
    return list(_dereference(here, definitions).get("properties", {}))


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
    for candidate in (here, *here.get("anyOf", [])):  # anyOf: an optional key
        if reference := candidate.get("$ref"):
            return dict(definitions["$defs"][reference.removeprefix("#/$defs/")])
    return here
