"""Findings: problems of a model's files, with file, line and column."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True)
class Finding:
    """A violated rule in a model's files; `rule` is its name."""

    rule: str
    location: Location
    message: str

    def __str__(self) -> str:
        return f"{self.location}: {self.message} [{self.rule}]"


class RepositoryInvalid(BuildError):
    """A model repository that Triton on SageMaker would reject or misread; has all `findings`."""

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = findings
        super().__init__("\n".join(map(str, findings)))
