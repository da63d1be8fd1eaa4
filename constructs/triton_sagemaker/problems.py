"""What is wrong with an endpoint, all at once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing that cannot be deployed: `where` is a dotted argument, `what` says the rest."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class InvalidEndpoint(ValueError):
    """An endpoint cannot be deployed as it is described; `problems` has every reason."""

    def __init__(self, endpoint: str, problems: list[Problem]) -> None:
        self.problems = problems
        lines = "\n".join(f"  {problem}" for problem in problems)
        super().__init__(f"endpoint {endpoint} cannot be deployed:\n{lines}")


def inside(where: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield the problems of a part as problems of the whole."""
    for problem in problems:
        yield Problem(f"{where}.{problem.where}", problem.what)
