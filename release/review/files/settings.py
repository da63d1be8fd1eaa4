"""Files of settings: cdk.json, package.json and pyproject.toml."""

from collections.abc import Iterator

from release.review.files.file_change import FileChange, FileLine
from release.review.files.plain_values import differences, read_json, read_toml


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield every setting that differs."""
    read = read_toml if change.path.endswith(".toml") else read_json
    old, new = (None if side is None else read(side) for side in (change.before, change.after))
    return (FileLine(str(difference)) for difference in differences(old, new))
