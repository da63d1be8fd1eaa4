"""Changes of `.gitignore`, which git and some linters read."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from review.files.file_change import FileChange, FileLine
from review.files.readers import read_text


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield added and removed patterns; a new pattern that matches tracked files is a danger.

    ruff skips files that match, even if git tracks them (ruff documentation, respect-gitignore).
    """
    old, new = (
        [line for line in read_text(side or b"").splitlines() if line[:1] not in ("", "#")]
        for side in (change.before, change.after)
    )
    for pattern in (line for line in new if line not in old):
        is_tracked = any(_matches(pattern, path) for path in change.base)
        text = f"{pattern}: ignored{', and matches files that git tracks' if is_tracked else ''}"
        yield FileLine(text, rule="weakened_checks" if is_tracked else "", harmless=True)
    for pattern in (line for line in old if line not in new):
        yield FileLine(f"{pattern}: no longer ignored", harmless=True)


def _matches(pattern: str, path: str) -> bool:
    """Return whether a pattern matches a path or a folder above it (gitignore(5))."""
    name_pattern = pattern.strip("/!")
    names = path.split("/")
    if "/" in pattern.rstrip("/"):
        paths = ("/".join(names[: index + 1]) for index in range(len(names)))
        return any(fnmatchcase(parent, name_pattern) for parent in paths)
    return any(fnmatchcase(name, name_pattern) for name in names)
