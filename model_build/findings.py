"""Findings: problems of a model's files, with their places."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from model_build.errors import BuildError


@dataclass(frozen=True)
class Place:
    """A file, and where in it: `line` and `column` count from 1, and are None for the whole."""

    path: Path
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        inside = self.path.is_absolute() and self.path.is_relative_to(Path.cwd())
        path = self.path.relative_to(Path.cwd()) if inside else self.path
        return ":".join(str(part) for part in (path, self.line, self.column) if part is not None)


Problems = Iterator[tuple[Place, str]]
"""The places and messages that a rule yields."""


@dataclass(frozen=True)
class Finding:
    """A problem; `rule` is the name of the rule."""

    rule: str
    place: Place
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message} [{self.rule}]"


class RepositoryInvalid(BuildError):
    """Triton on SageMaker would refuse or misread the model repository; has every `findings`."""

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = findings
        super().__init__("\n".join(map(str, findings)))
