"""Settings of linters of templates: what they skip."""

from collections.abc import Iterator

from release.review.files.file_change import FileChange, FileLine
from release.review.files.plain_values import differences, read_yaml

SKIPS = ("ignore_checks", "ignore_templates", "skip-check", "skip-path")
"""Keys of cfn-lint and checkov whose items are not looked at."""


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield every setting that differs; fewer checks skipped is harmless.

    Both sides of this change are linted with the settings of the base: it is the next one that
    they weaken.
    """
    old, new = (read_yaml(side) if side else None for side in (change.before, change.after))
    for difference in differences(old, new):
        skips = bool(difference.path) and difference.path[0] in SKIPS
        if skips and difference.after is None:
            yield FileLine(
                f"{difference.path[0]}: {difference.before} is checked again", harmless=True
            )
        elif skips and difference.before is None:
            yield FileLine(f"{difference.path[0]}: {difference.after} is new", "weakened_checks")
        else:
            yield FileLine(str(difference), "weakened_checks")
