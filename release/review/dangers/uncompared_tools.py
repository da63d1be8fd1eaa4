"""Tools that deploy, and that no comparison of templates shows."""

import json
from collections.abc import Iterator

from release.review.dangers.found import Found
from release.tree import Tree

CLI = "aws-cdk"


def uncompared_tools(before: Tree, after: Tree) -> Iterator[Found]:
    """The CDK's CLI is another one: templates are made without it, and it deploys them.

    That this asks for an acknowledgement is our choice.
    """
    old, new = _cli(before), _cli(after)
    if old != new:
        yield Found(
            f"{CLI}.{new}",
            f"not compared: {CLI} {old} -> {new} (package-lock.json), which deploys what is "
            "compared here; read its release notes",
        )


def _cli(tree: Tree) -> str | None:
    """Return the version that is locked, None where there is none."""
    try:
        lock = json.loads((tree.root / "package-lock.json").read_text(encoding="utf-8"))
        return str(lock["packages"][f"node_modules/{CLI}"]["version"])
    except (FileNotFoundError, ValueError, KeyError):
        return None
