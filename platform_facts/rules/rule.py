"""A rule: a check of plain values, with the key that it is about and its source."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, ParamSpec

Keys = tuple[str | int, ...]
P = ParamSpec("P")


class Violation(NamedTuple):
    """A wrong value: `path` leads to it, `message` is the problem and its fix."""

    path: Keys
    message: str

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))}: {self.message}"


@dataclass(frozen=True)
class Rule(Generic[P]):
    """A check with the `path` of the value that it blames, from an endpoint's or a stage's key.

    `statement` says what must hold; `check` returns the message, None where it holds.
    """

    path: Keys
    statement: str
    source: str
    check: Callable[P, str | None]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> list[Violation]:
        """Return the problem at the rule's key, or nothing."""
        message = self.check(*args, **kwargs)
        return [Violation(self.path, message)] if message else []

    def at(self, *path: str | int) -> "Rule[P]":
        """Return the rule for a value that stands elsewhere."""
        return replace(self, path=path)


RULES: list[Rule[Any]] = []
"""Every rule, in the order of the modules; docs/rules.md is made from it."""


def rule(key: str, source: str) -> Callable[[Callable[P, str | None]], Rule[P]]:
    """Return a decorator that makes a rule of a check, whose docstring is the statement."""

    def register(check: Callable[P, str | None]) -> Rule[P]:
        statement, _, _ = (check.__doc__ or "").partition("\n\n")
        made = Rule(tuple(key.split(".")), " ".join(statement.split()), source, check)
        RULES.append(made)
        return made

    return register


def prefix_violations(keys: Keys, problems: Iterable[Violation]) -> list[Violation]:
    """Return the violations with `keys` before the path of each."""
    return [Violation((*keys, *problem.path), problem.message) for problem in problems]
