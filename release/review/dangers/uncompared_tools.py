"""Packages of npm's lock: the CDK's CLI deploys, and no comparison of templates shows it."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from release.review.dangers.found import Found
from release.tree import Tree

LOCK = "package-lock.json"


def uncompared_tools(before: Tree, after: Tree) -> Iterator[Found]:
    """A locked package has another entry, in any way.

    One version may have another content (`integrity`), from another place (`resolved`), which no
    entry here names: npm takes its registry. That this asks for an acknowledgement is our choice.
    """
    old, new = _packages(before), _packages(after)
    for name in sorted(old.keys() | new.keys()):
        was, now = old.get(name), new.get(name)
        if was != now:
            content = json.dumps(now, sort_keys=True)
            yield Found(
                f"{name}.{hashlib.sha256(content.encode()).hexdigest()}",
                f"not compared: {name} {_shown(was)} -> {_shown(now)} ({LOCK})",
                group="npm",
                heading="not compared: {count} packages of npm, which deploy what is compared here",
            )


def _packages(tree: Tree) -> dict[str, Any]:
    """Return package -> its entry; the file itself stands for a lock that is none."""
    try:
        packages = json.loads((tree.root / LOCK).read_text(encoding="utf-8"))["packages"]
        return {name.removeprefix("node_modules/"): it for name, it in packages.items() if name}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, AttributeError, TypeError):
        return {LOCK: "no lock"}


def _shown(entry: Any) -> str:
    """Return a version, and what tells two of one version apart."""
    match entry:
        case {"version": version}:
            place = f" from {entry['resolved']}" if "resolved" in entry else ""
            return f"{version}{place} ({str(entry.get('integrity', 'any content'))[:24]})"
    return "none" if entry is None else str(entry)[:100]
