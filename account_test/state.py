"""The state file that a run leaves on this machine for the next, and the lock of a run."""

import fcntl
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(".account-test")


class RunInProgress(Exception):
    """Another run is in progress."""


@dataclass(frozen=True)
class State:
    """An unfinished run: its account and region, and the names of retained resources."""

    path: Path

    @property
    def content(self) -> dict[str, Any]:
        """The recorded state; empty if no run is unfinished."""
        content: dict[str, Any] = json.loads(self.path.read_text()) if self.path.exists() else {}
        return content

    def begin(self, account: str, region: str) -> None:
        """Save the account and region of a run, before it creates resources."""
        self.path.write_text(json.dumps({**self.content, "account": account, "region": region}))

    def add_resources(self, kind: str, names: Iterable[str]) -> None:
        """Add the names of retained resources of a kind."""
        content = self.content
        all_names = sorted({*content.get(kind, ()), *names})
        if all_names != content.get(kind, []):
            self.path.write_text(json.dumps({**content, kind: all_names}))

    def end(self) -> None:
        """Delete the state, because no resource of the run remains."""
        self.path.unlink(missing_ok=True)


@contextmanager
def lock_state(folder: Path) -> Iterator[State]:
    """Lock the folder for the block and yield its state. Raise `RunInProgress` if it is locked."""
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RunInProgress(
                f"another run is in progress here: {folder}/lock is locked"
            ) from None
        yield State(folder / "state.json")
