"""Changes of `.gitignore`, which git and some linters read."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from release.review.files.file_change import FileChange, FileLine
from release.review.files.readers import read_text


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield added and removed patterns; a new pattern that matches tracked files is a danger.

    ruff ignores matching files, even tracked ones (ruff documentation, respect-gitignore).
    """
    old, new = (read_text(side or b"").splitlines() for side in (change.before, change.after))
    for pattern in (line for line in new if line not in old and line[:1] not in ("", "#")):
        tracked = any(_matches(pattern, path) for path in change.base)
        text = f"{pattern}: ignored{', and git tracks such files' if tracked else ''}"
        yield FileLine(text, "weakened_checks" if tracked else "", harmless=True)
    for pattern in (line for line in old if line not in new and line[:1] not in ("", "#")):
        yield FileLine(f"{pattern}: no longer ignored", harmless=True)


def _matches(pattern: str, path: str) -> bool:
    """Return whether a pattern matches a path or a folder above it (gitignore(5))."""
    bare = pattern.strip("/!")
    parts = path.split("/")
    if "/" in pattern.rstrip("/"):
        return any(fnmatchcase("/".join(parts[: end + 1]), bare) for end in range(len(parts)))
    return any(fnmatchcase(part, bare) for part in parts)
