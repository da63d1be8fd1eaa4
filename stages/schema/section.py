"""The base class of all sections of a stage file, and helpers for validation."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import core_schema

from platform_facts.rules import Violation, checked_yaml
from platform_facts.rules.ranges import Range

Value = TypeVar("Value")


class Section(BaseModel):
    """A section (mapping) of a stage file: immutable, without additional keys.

    Types are strict: "2" is not a number and "off" is not false, but 2 is a valid float.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )


def raise_problems(problems: Iterable[Violation], *, depth: int = 0) -> None:
    """Raise `LocatedErrors` if there are problems; remove the first `depth` keys of their paths."""
    if errors := [(problem.path[depth:], problem.message) for problem in problems]:
        raise checked_yaml.LocatedErrors(errors)


def range_field(limits: Range) -> Any:
    """Return a pydantic field with the limits of a range."""
    return Field(ge=limits.minimum, gt=limits.exclusive_minimum, le=limits.maximum)


def rule_validator(rule: Callable[[Value], list[Violation]]) -> AfterValidator:
    """Return a pydantic validator of a value by a rule."""

    def check(value: Value) -> Value:
        for problem in rule(value):
            raise ValueError(problem.message)
        return value

    return AfterValidator(check)


@dataclass(frozen=True)
class TextPattern:
    """A pydantic annotation of a text that matches `pattern` as a whole.

    `error` follows the invalid text in the error message.
    """

    pattern: str
    error: str

    def __get_pydantic_core_schema__(self, kind: Any, handler: Any) -> core_schema.CoreSchema:
        """Return pydantic's schema of a text, with the check."""
        return core_schema.no_info_after_validator_function(self._check, handler(kind))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Return the JSON schema of a text, with the pattern."""
        return {**handler(schema), "pattern": f"^{self.pattern}$"}

    def _check(self, text: str) -> str:
        if re.fullmatch(self.pattern, text):
            return text
        valid_text = re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")
        suggestion = f", such as {valid_text}" if re.fullmatch(self.pattern, valid_text) else ""
        raise ValueError(f"{text!r} {self.error}{suggestion}")
