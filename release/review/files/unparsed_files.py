"""Changes of files without a rule: the number of changed lines, or a few of them."""

from collections.abc import Iterator

from release.review.files.comments import differ_in_comments_alone
from release.review.files.file_change import FileChange, FileLine

PINNING = (b"--ignore-scripts", b"--only-binary", b"--require-hashes", b"npm ci")
"""Options that make package managers install only locked packages, without running their code."""


def changed_size(change: FileChange) -> Iterator[FileLine]:
    """Yield the size of the change, and a few changed lines."""
    if differ_in_comments_alone(change):
        yield FileLine("only comments change", harmless=True)
        return
    lines = f": {change.lines}" if change.lines else ""
    text = f"{change.state}, not judged ({change.size}){lines}"
    before, after = change.before or b"", change.after
    removed = [word for word in PINNING if after and after.count(word) < before.count(word)]
    names = ", ".join(word.decode() for word in removed)
    yield FileLine(f"without {names}: {text}", "lost_pins") if removed else FileLine(text)


def guard(change: FileChange) -> Iterator[FileLine]:
    """Yield that the code of the update guard changed, as a danger."""
    for line in changed_size(change):
        text = f"guards and checks every update: {line.text}"
        yield line if line.harmless else FileLine(text, "changed_guard")


def lock_input(change: FileChange) -> Iterator[FileLine]:
    """Yield that the input of a lock file changed; harmless, because the lock is compared."""
    for line in changed_size(change):
        yield line._replace(harmless=not line.rule)


def check_code(change: FileChange) -> Iterator[FileLine]:
    """Yield that a module of checks is deleted (a danger) or changed."""
    if change.after is None:
        yield FileLine(f"deleted ({change.size}): its checks no longer run", "weakened_checks")
    else:
        yield from changed_size(change)


def deleted(change: FileChange) -> Iterator[FileLine]:
    """Yield only that a file is deleted."""
    if change.after is None:
        yield FileLine(f"deleted ({change.size})")
