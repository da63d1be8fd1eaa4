"""The base class of every part of a stage's file, and how its values meet the rules."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

import checked_yaml
from platform_facts.rules import Violation
from platform_facts.rules.ranges import Range

Value = TypeVar("Value")


class Part(BaseModel):
    """Keys that the file may have in one place; no others, and none is ever changed.

    Strict: "2" is no number and "off" is no false, but 2 is a float.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )


def refuse(problems: Iterable[Violation], *, depth: int = 0) -> None:
    """Raise all problems, if any, for a part that stands `depth` keys below their root."""
    if listed := [(problem.path[depth:], problem.message) for problem in problems]:
        raise checked_yaml.LocatedErrors(listed)


def within(limits: Range) -> Any:
    """Return the range of a number, for pydantic and for editors."""
    return Field(ge=limits.least, gt=limits.above, le=limits.most)


def obeying(rule: Callable[[Value], list[Violation]]) -> AfterValidator:
    """Return a validator of single values by a rule."""

    def check(value: Value) -> Value:
        for problem in rule(value):
            raise ValueError(problem.message)
        return value

    return AfterValidator(check)
