"""The reviewed list of what the review is right to say nothing of."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import yaml

from tests.review_changes.changes import Change

LIST = Path(__file__).parent / "silent.yaml"


@dataclass(frozen=True, kw_only=True)
class Silent:
    """Changes of one kind, or of all; `type` and `property` may have * in them."""

    type: str
    property: str
    reason: str
    kind: str = "*"

    def covers(self, change: Change) -> bool:
        """Whether it gives the reason of a change."""
        return (
            fnmatchcase(change.type, self.type)
            and fnmatchcase(change.path, self.property)
            and fnmatchcase(change.kind, self.kind)
        )


def silent() -> list[Silent]:
    """Read the list."""
    return [Silent(**each) for each in yaml.safe_load(LIST.read_text()) or []]


def without_reason(changes: Iterable[Change]) -> list[str]:
    """Return a line for each change that nothing in the list covers."""
    known = silent()
    return sorted(
        {change.title for change in changes if not any(each.covers(change) for each in known)}
    )
