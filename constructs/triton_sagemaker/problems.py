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


def inside(where: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield the problems of a part as problems of the whole."""
    for problem in problems:
        yield Problem(f"{where}.{problem.where}", problem.what)
