"""A changed file, and the lines that describe it."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from review.values import changed_lines, format_change

Rule = Literal[
    "",
    "changed_update_guard",
    "changed_release_process",
    "larger_tolerances",
    "lost_pins",
    "changed_weights_source",
    "slow_responses",
    "changed_npm_packages",
    "unreadable_files",
    "weakened_checks",
    "widened_workflows",
]


MAX_CHANGED_LINES = 3
"""Maximum number of changed lines shown for a file without a rule."""


class FileLine(NamedTuple):
    """A description of a change in a file.

    A line with a `rule` is a danger. In a file that reviews, installs or deploys the next change, a
    line without a rule is the danger `changed_release_process`, unless the line is `harmless`.
    """

    text: str
    rule: Rule = ""
    harmless: bool = False


@dataclass(frozen=True)
class FileChange:
    """A changed file; `base` and `head` are path -> content of all files before and after."""

    path: str
    base: Mapping[str, bytes]
    head: Mapping[str, bytes]

    @property
    def before(self) -> bytes | None:
        """The content before, None for a new file."""
        return self.base.get(self.path)

    @property
    def after(self) -> bytes | None:
        """The content after, None for a deleted file."""
        return self.head.get(self.path)

    @property
    def model_exists(self) -> bool:
        """Whether the model's folder has files after the change."""
        folder = "/".join(self.path.split("/")[:2])
        return any(path.startswith(f"{folder}/") for path in self.head)

    @property
    def subject(self) -> str:
        """The path with a digest of the new content, for acknowledgements."""
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
        """The numbers of added and removed lines, without moved lines; for a binary file, bytes."""
        sides = [self.before or b"", self.after or b""]
        if any(b"\0" in side for side in sides):
            return f"{len(sides[0]):,} -> {len(sides[1]):,} bytes"
        old, new = (Counter(side.splitlines()) for side in sides)
        return f"+{(new - old).total()} -{(old - new).total()} lines"

    @property
    def changed_lines(self) -> str:
        """The removed and added lines; empty if there are too many, or for a binary file."""
        texts = [side.decode(errors="replace") for side in (self.before, self.after) if side]
        if len(texts) < 2 or any("\0" in text for text in texts):
            return ""
        removed, added = changed_lines(*texts)
        if not 0 < max(len(removed), len(added)) <= MAX_CHANGED_LINES:
            return ""
        return format_change(" ".join(removed) or "none", " ".join(added) or "none")
