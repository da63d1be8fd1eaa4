"""`package-lock.json`: the CDK's CLI deploys, and no comparison of templates shows another one."""

from collections.abc import Iterator
from typing import Any

from release.review.files.file_change import FileChange, FileLine
from release.review.files.plain_values import Unreadable, read_json


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield every locked package whose entry differs in any way.

    One version may have another content (`integrity`), from another place (`resolved`), which no
    entry here names: npm takes its registry. That this is a danger is our choice.
    """
    old, new = _packages(change.before), _packages(change.after)
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            text = f"{_shown(old.get(name))} -> {_shown(new.get(name))}"
            yield FileLine(f"not compared: {name} {text}", "uncompared_tools")


def _packages(content: bytes | None) -> dict[str, Any]:
    match {"packages": {}} if content is None else read_json(content):
        case {"packages": dict(packages)}:
            return {name.removeprefix("node_modules/"): entry for name, entry in packages.items()}
    raise Unreadable("has no packages")


def _shown(entry: Any) -> str:
    """Return a version, and what tells two of one version apart."""
    match entry:
        case {"version": version}:
            place = f" from {entry['resolved']}" if "resolved" in entry else ""
            return f"{version}{place} ({str(entry.get('integrity', 'any content'))[:24]})"
    return "none" if entry is None else str(entry)[:100]
