"""A rule: a check of plain values, with the key that it reports and its source."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, ParamSpec

Keys = tuple[str | int, ...]
P = ParamSpec("P")


class Violation(NamedTuple):
    """An invalid value: `path` are its keys, `message` is the problem and its fix."""

    path: Keys
    message: str

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))}: {self.message}"


@dataclass(frozen=True)
class Rule(Generic[P]):
    """A check with the `path` of the reported value, relative to an endpoint or a stage.

    `statement` is the requirement in words; `check` returns a message if it is violated, else None.
    """

    path: Keys
    statement: str
    source: str
    check: Callable[P, str | None]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> list[Violation]:
        """Return the violation at the rule's path, or an empty list."""
        message = self.check(*args, **kwargs)
        return [Violation(self.path, message)] if message else []

    def at(self, *path: str | int) -> "Rule[P]":
        """Return the rule for the value at another path."""
        return replace(self, path=path)


RULES: list[Rule[Any]] = []
"""All rules, in the order of definition; `python -m platform_facts.rules` prints them."""


def rule(key: str, source: str) -> Callable[[Callable[P, str | None]], Rule[P]]:
    """Return a decorator that turns a check into a rule; the docstring is the statement."""

    def register(check: Callable[P, str | None]) -> Rule[P]:
        statement, _, _ = (check.__doc__ or "").partition("\n\n")
        new_rule = Rule(tuple(key.split(".")), " ".join(statement.split()), source, check)
        RULES.append(new_rule)
        return new_rule

    return register


def prefix_violations(keys: Keys, problems: Iterable[Violation]) -> list[Violation]:
    """Return the violations with `keys` prepended to their paths."""
    return [Violation((*keys, *problem.path), problem.message) for problem in problems]
