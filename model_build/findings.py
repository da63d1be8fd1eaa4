"""Findings: problems of a model's files, with file, line and column."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from model_build.errors import BuildError


@dataclass(frozen=True)
class Location:
    """A location in a file: `line` and `column` count from 1; both are None for the whole file."""

    path: Path
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        inside = self.path.is_absolute() and self.path.is_relative_to(Path.cwd())
        path = self.path.relative_to(Path.cwd()) if inside else self.path
        return ":".join(str(part) for part in (path, self.line, self.column) if part is not None)


Problems = Iterator[tuple[Location, str]]
"""Places and messages of a rule's findings."""


Level = Literal["error", "warning"]
_Rule = TypeVar("_Rule", bound=Callable[..., Problems])


def warning(rule: _Rule) -> _Rule:
    """Mark a rule whose findings Triton and SageMaker accept; the others are errors.

    An error is what Triton or SageMaker refuses, what fails every call, or what the builder cannot
    build.
    """
    rule.level = "warning"  # type: ignore[attr-defined]
    return rule


def level_of(rule: Callable[..., Problems]) -> Level:
    """Return the level of a rule's findings."""
    level: Level = getattr(rule, "level", "error")
    return level


@dataclass(frozen=True)
class Finding:
    """A violated rule in a model's files; `rule` is its name."""

    rule: str
    location: Location
    message: str
    level: Level = "error"

    def __str__(self) -> str:
        level = "warning: " if self.level == "warning" else ""
        return f"{self.location}: {level}{self.message} [{self.rule}]"


def errors(findings: list[Finding]) -> list[Finding]:
    """Return the findings that are errors."""
    return [finding for finding in findings if finding.level == "error"]


class RepositoryInvalid(BuildError):
    """A model repository that Triton on SageMaker would refuse; has the errors as `findings`."""

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = findings
        super().__init__("\n".join(map(str, findings)))
