"""The little of a stage's YAML that is not in its templates."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import yaml

EXAMPLE = "region: us-east-1"
TEXT, NUMBER, SWITCH = ("str",), ("int", "float"), ("bool",)
"""Types of YAML, by their tags."""

_Keys = Mapping[str, yaml.Node]


class UnreadableStage(ValueError):
    """What is wrong in the file; `line` counts from 1, None where it is of the whole file."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class StageFile:
    """Where a stage is, and what is allowed to it.

    `max_monthly_usd` is what its instances may cost a month, None where nobody has said.
    """

    region: str
    production: bool
    account: str | None = None
    max_monthly_usd: float | None = None

    @classmethod
    def of(cls, content: bytes) -> Self:
        """Read a file's bytes. Raises `UnreadableStage`.

        Everything else in the file is checked by the app.
        """
        keys = _keys(_text(content))
        region = _value(keys, "region", TEXT, "the name of an AWS region, such as us-east-1")
        if not region:
            at = keys["region"].start_mark.line + 1 if "region" in keys else None
            raise UnreadableStage(f"has no region: write {EXAMPLE}", at)
        account = _value(keys, "account", (*TEXT, "int"), "the 12 digits of an AWS account")
        most = _value(keys, "max_monthly_usd", NUMBER, "a number of US dollars, such as 500")
        return cls(
            region=region,
            production=bool(_value(keys, "production", SWITCH, "true or false")),
            account=str(account) if account else None,
            max_monthly_usd=None if most is None else float(most),
        )


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableStage("is not UTF-8: save the file as UTF-8", line) from None


def _keys(text: str) -> _Keys:
    """Return the keys of a document, each with what stands there."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if isinstance(node, yaml.MappingNode):
            yaml.SafeLoader("").flatten_mapping(node)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise UnreadableStage(f"not YAML: {error.problem}", line) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        reason = f"YAML has no character U+{ord(text[error.position]):04X}: remove it"
        raise UnreadableStage(reason, line) from None
    if node is None:
        raise UnreadableStage(f"is empty: write {EXAMPLE}")
    if not isinstance(node, yaml.MappingNode):
        line = node.start_mark.line + 1
        raise UnreadableStage(f"write keys with their values, such as {EXAMPLE}", line)
    return {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}


def _value(keys: _Keys, key: str, types: tuple[str, ...], wanted: str) -> Any:
    """Return what stands under a key, None for nothing."""
    node = keys.get(key)
    kind = node.tag.rpartition(":")[2] if node else "null"
    if node is None or kind == "null":
        return None
    refused = UnreadableStage(f"{key}: write {wanted}", node.start_mark.line + 1)
    if kind not in types or not isinstance(node, yaml.ScalarNode):
        raise refused
    try:
        return yaml.SafeLoader("").construct_object(node)
    except ValueError:  # such as 0b, an int to YAML's pattern and none to Python
        raise refused from None
