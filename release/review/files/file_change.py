"""A changed file, and the lines that describe it."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from release.review.values import arrow, changed_lines

Rule = Literal[
    "",
    "changed_guard",
    "changed_judge",
    "larger_tolerances",
    "lost_pins",
    "other_weights",
    "slow_answers",
    "uncompared_tools",
    "unreadable_files",
    "unreviewed_code",
    "weakened_checks",
    "widened_workflows",
]


MOST_LINES = 3
"""Changed lines of a file that is not judged, if there are no more: they are shown."""


class FileLine(NamedTuple):
    """One thing that changes in a file.

    With a `rule`, it is a danger of that name. In a file that judges, installs or deploys the next
    change, every other line is a danger too, unless it is `harmless`.
    """

    text: str
    rule: Rule = ""
    harmless: bool = False


@dataclass(frozen=True)
class FileChange:
    """A file that differs; `base` and `head` are all files, path -> content, of both sides."""

    path: str
    base: Mapping[str, bytes]
    head: Mapping[str, bytes]

    @property
    def before(self) -> bytes | None:
        """The content before, None where there was no file."""
        return self.base.get(self.path)

    @property
    def after(self) -> bytes | None:
        """The content after, None where there is no file."""
        return self.head.get(self.path)

    @property
    def model_stays(self) -> bool:
        """Whether the model's folder, which the file is in, still has files."""
        model = "/".join(self.path.split("/")[:2])
        return any(path.startswith(f"{model}/") for path in self.head)

    @property
    def subject(self) -> str:
        """What an acknowledgement names: the path and exactly this content."""
        content = self.after
        digest = "deleted" if content is None else hashlib.sha256(content).hexdigest()
        return f"{self.path}.{digest}"

    @property
    def state(self) -> str:
        """`new`, `deleted` or `changed`."""
        if self.before is None:
            return "new"
        return "deleted" if self.after is None else "changed"

    @property
    def size(self) -> str:
        """How many lines come and go, in bytes where a side is no text.

        Lines are counted without their order: one that moves is neither.
        """
        sides = [self.before or b"", self.after or b""]
        if any(b"\0" in side for side in sides):
            return f"{len(sides[0]):,} -> {len(sides[1]):,} bytes"
        old, new = (Counter(side.splitlines()) for side in sides)
        return f"+{(new - old).total()} -{(old - new).total()} lines"

    @property
    def lines(self) -> str:
        """The lines that come and go in a text that changes, empty for more than a few."""
        sides = [side.decode(errors="replace") for side in (self.before, self.after) if side]
        if len(sides) < 2 or any("\0" in side for side in sides):
            return ""
        gone, more = changed_lines(*sides)
        if not 0 < max(len(gone), len(more)) <= MOST_LINES:
            return ""
        return arrow(" ".join(gone) or "none", " ".join(more) or "none")
