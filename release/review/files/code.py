"""Files whose content no rule judges."""

from collections import Counter
from collections.abc import Iterator

from release.review.files.file_change import FileChange, FileLine


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield that a file changed, and how much of it."""
    yield FileLine(f"{state(change)}, not judged ({size(change)})")


def state(change: FileChange) -> str:
    """Return `new`, `deleted` or `changed`."""
    if change.before is None:
        return "new"
    return "deleted" if change.after is None else "changed"


def size(change: FileChange) -> str:
    """Return how many lines come and go, in bytes where a side is no text.

    Lines are counted without their order: one that moves is neither.
    """
    sides = [change.before or b"", change.after or b""]
    if any(b"\0" in side for side in sides):
        return f"{len(sides[0]):,} -> {len(sides[1]):,} bytes"
    old, new = (Counter(side.splitlines()) for side in sides)
    return f"+{(new - old).total()} -{(old - new).total()} lines"
