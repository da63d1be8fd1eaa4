"""Changes of files without a reader for their format: the number of changed lines."""

from collections.abc import Iterator

from review.files.comments import has_only_comment_changes
from review.files.file_change import FileChange, FileLine

SAFE_INSTALL_OPTIONS = (b"--ignore-scripts", b"--only-binary", b"--require-hashes", b"npm ci")
"""Options that make package managers install only locked packages, without running their code."""


def describe_size(change: FileChange) -> Iterator[FileLine]:
    """Yield the size of the change and, if it is small, the changed lines."""
    if has_only_comment_changes(change):
        yield FileLine("only comments change", harmless=True)
        return
    lines = f": {change.changed_lines}" if change.changed_lines else ""
    text = f"{change.state}, not judged ({change.size}){lines}"
    before, after = change.before or b"", change.after
    removed_options = [
        option.decode()
        for option in SAFE_INSTALL_OPTIONS
        if after and after.count(option) < before.count(option)
    ]
    if removed_options:
        yield FileLine(f"without {', '.join(removed_options)}: {text}", rule="lost_pins")
    else:
        yield FileLine(text)


def describe_guard(change: FileChange) -> Iterator[FileLine]:
    """Yield a change of the update guard's code, as a danger."""
    for line in describe_size(change):
        text = f"guards and checks every update: {line.text}"
        yield line if line.harmless else FileLine(text, rule="changed_update_guard")


def describe_lock_input(change: FileChange) -> Iterator[FileLine]:
    """Yield a change of the input of a lock file; harmless, because the lock file is compared."""
    for line in describe_size(change):
        yield line._replace(harmless=not line.rule)


def describe_check_code(change: FileChange) -> Iterator[FileLine]:
    """Yield that a module with checks is deleted, which is a danger, or changed."""
    if change.after is None:
        yield FileLine(f"deleted ({change.size}): its checks no longer run", rule="weakened_checks")
    else:
        yield from describe_size(change)


def describe_deletion(change: FileChange) -> Iterator[FileLine]:
    """Yield that a file is deleted; other changes are not described."""
    if change.after is None:
        yield FileLine(f"deleted ({change.size})")
