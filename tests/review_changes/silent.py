"""The reviewed list of changes that the review need not report: silent.yaml."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import yaml

from tests.review_changes.changes import RandomChange

LIST = Path(__file__).parent / "silent.yaml"


@dataclass(frozen=True, kw_only=True)
class SilentChange:
    """An entry of the list; `type`, `property` and `kind` are patterns with *."""

    type: str
    property: str
    reason: str
    kind: str = "*"

    def covers(self, change: RandomChange) -> bool:
        """Return whether the entry covers a change."""
        return (
            fnmatchcase(change.type, self.type)
            and fnmatchcase(change.path, self.property)
            and fnmatchcase(change.kind, self.kind)
        )


def silent_changes() -> list[SilentChange]:
    """Return the entries of the list."""
    return [SilentChange(**entry) for entry in yaml.safe_load(LIST.read_text()) or []]


def unlisted_changes(changes: Iterable[RandomChange]) -> list[str]:
    """Return the titles of the changes that no entry covers."""
    entries = silent_changes()
    titles = (
        change.title for change in changes if not any(entry.covers(change) for entry in entries)
    )
    return sorted({*titles})
