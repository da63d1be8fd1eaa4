"""The code of the app: stacks are compared as templates, and cdk-nag must have looked at them."""

import io
import tokenize
from collections.abc import Iterator, Mapping
from contextlib import suppress

from release.review.files.file_change import FileChange, FileLine

CHECKS = ("add_plugins", "AwsSolutionsChecks")
FOLDERS = ("app.py", "constructs/", "stacks/")


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield that cdk-nag's checks are in fewer places of the app than before.

    Comments do not count. That code runs is not known: what it makes is in the templates.
    """
    if change.before is None or not any(name.encode() in change.before for name in CHECKS):
        return
    for name in CHECKS:
        if _uses(change.head, name) < _uses(change.base, name):
            text = f"{name} is gone: cdk-nag no longer checks every stack"
            yield FileLine(text, "weakened_checks")
            return


def _uses(files: Mapping[str, bytes], name: str) -> int:
    return sum(
        sum(used == name for used in _names(content))
        for path, content in files.items()
        if path.startswith(FOLDERS) and name.encode() in content
    )


def _names(content: bytes) -> Iterator[str]:
    """Yield the names in a module, up to where it is no Python."""
    with suppress(tokenize.TokenError, SyntaxError, UnicodeDecodeError):
        for token in tokenize.tokenize(io.BytesIO(content).readline):
            if token.type == tokenize.NAME:
                yield token.string
