"""Files that no rule reads: the size of their changes, or a few changed lines."""

from collections.abc import Iterator

from release.review.files.comments import differ_in_comments_alone
from release.review.files.file_change import FileChange, FileLine

PINNING = (b"--ignore-scripts", b"--only-binary", b"--require-hashes", b"npm ci")
"""Options with which package managers install only locked packages, without running their code."""


def unjudged(change: FileChange) -> Iterator[FileLine]:
    """Yield that a file changed, with the size of the change and a few lines."""
    if differ_in_comments_alone(change):
        yield FileLine("other comments, and no other code", harmless=True)
        return
    lines = f": {change.lines}" if change.lines else ""
    text = f"{change.state}, not judged ({change.size}){lines}"
    before, after = change.before or b"", change.after
    gone = [word for word in PINNING if after and after.count(word) < before.count(word)]
    names = ", ".join(word.decode() for word in gone)
    yield FileLine(f"without {names}: {text}", "lost_pins") if gone else FileLine(text)


def guard(change: FileChange) -> Iterator[FileLine]:
    """Yield that the code changed that guards and checks every update of an endpoint."""
    for line in unjudged(change):
        text = f"guards and checks every update: {line.text}"
        yield line if line.harmless else FileLine(text, "changed_guard")


def input_of_lock(change: FileChange) -> Iterator[FileLine]:
    """Yield that the input of a lock file changed, which is harmless: the lock is compared."""
    for line in unjudged(change):
        yield line._replace(harmless=not line.rule)


def check_code(change: FileChange) -> Iterator[FileLine]:
    """Yield that a module of checks is deleted or changed."""
    if change.after is None:
        yield FileLine(f"deleted ({change.size}): what it checked is no longer", "weakened_checks")
    else:
        yield from unjudged(change)


def deleted(change: FileChange) -> Iterator[FileLine]:
    """Yield only that a file is deleted."""
    if change.after is None:
        yield FileLine(f"deleted ({change.size})")
