"""A faulty change of a source file, and the tests that must fail because of it."""

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LISTS = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """Replacement of `old` by `new` in `file`: one of `tests` must fail.

    `why` is the consequence for users.
    """

    name: str
    file: str
    old: str
    new: str
    tests: list[str]
    why: str = ""

    def faults(self, root: Path) -> Iterator[str]:
        """Yield reasons why the mutant cannot be applied to the source tree `root`."""
        path = root / self.file
        count = path.read_text().count(self.old) if path.is_file() else 0
        if count != 1:
            yield f"{self.name}: {self.file} contains `old` {count} times, not once: update `old`"
        for test in self.tests:
            file, _, function = test.partition("::")
            path = root / file
            if not path.is_file() or (function and f"def {function}(" not in path.read_text()):
                yield f"{self.name}: {test} does not exist"
            elif "::" not in test and "SnapshotAssertion" in path.read_text():
                yield f"{self.name}: {test} has snapshots: name its other tests, FILE::TEST"

    @contextmanager
    def put_into(self, root: Path) -> Iterator[None]:
        """Change the file within the `with` block."""
        path = root / self.file
        original = path.read_text()
        path.write_text(original.replace(self.old, self.new))
        try:
            yield
        finally:
            path.write_text(original)


def mutants() -> list[Mutant]:
    """Return the mutants of all TOML files, one table each."""
    return [
        Mutant(name=name, **fields)
        for path in sorted(LISTS.glob("*.toml"))
        for name, fields in _read(path).items()
    ]


def _read(path: Path) -> dict[str, dict[str, Any]]:
    return tomllib.loads(path.read_text())
