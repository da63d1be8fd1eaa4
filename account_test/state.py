"""The state file that a run leaves on this machine for the next, and the lock of a run."""

import fcntl
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(".account-test")


class InProgress(Exception):
    """Another run is in progress."""


@dataclass(frozen=True)
class State:
    """An unfinished run: account, region, and names of what its stacks will not delete."""

    path: Path

    @property
    def content(self) -> dict[str, Any]:
        """The recorded state; empty if no run is unfinished."""
        content: dict[str, Any] = json.loads(self.path.read_text()) if self.path.exists() else {}
        return content

    def begin(self, account: str, region: str) -> None:
        """Remember where a run creates resources, before it does."""
        self.path.write_text(json.dumps({**self.content, "account": account, "region": region}))

    def remember(self, kind: str, names: Iterable[str]) -> None:
        """Remember resources of a kind beside those that are remembered already."""
        before = self.content
        together = sorted({*before.get(kind, ()), *names})
        if together != before.get(kind, []):
            self.path.write_text(json.dumps({**before, kind: together}))

    def end(self) -> None:
        """Forget the run: nothing is left of it."""
        self.path.unlink(missing_ok=True)


@contextmanager
def only_run(folder: Path) -> Iterator[State]:
    """Give the state, for the length of the block. Raises `InProgress` beside another run."""
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InProgress(f"another run is in progress here: {folder}/lock is locked") from None
        yield State(folder / "state.json")
