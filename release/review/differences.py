"""The CDK's own differences between two sets of templates."""

import atexit
import json
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from release.tree import Template

SCRIPT = Path(__file__).parent / "diff.mjs"
NO_CHANGE = "NO_CHANGE"


@dataclass(frozen=True)
class Change:
    """One resource that differs; `impact` is the CDK's word for what CloudFormation does to it."""

    stack: str
    id: str
    type: str
    impact: str
    properties: tuple[str, ...]
    before: dict[str, Any]
    after: dict[str, Any]

    @property
    def path(self) -> str:
        """The construct's path below its stack, which people recognise."""
        metadata = (self.after or self.before).get("Metadata", {})
        path: str = metadata.get("aws:cdk:path", self.id)
        return path.partition("/")[2].removesuffix("/Resource") or self.id


@dataclass(frozen=True)
class StackDifference:
    """One stack's changes, and the text that `cdk diff` shows for them."""

    stack: str
    changes: tuple[Change, ...]
    text: str


def differences(
    before: dict[str, Template], after: dict[str, Template], change_sets: dict[str, Any]
) -> list[StackDifference]:
    """Return what differs in each stack; stacks that do not differ are left out.

    Where there is a change set of a stack, CloudFormation itself says what is replaced.
    """
    names = sorted(
        it
        for it in before.keys() | after.keys()
        if it in change_sets or before.get(it) != after.get(it)
    )
    pairs: list[dict[str, Any]] = [
        {"before": before.get(it, {}), "after": after.get(it, {}), "changeSet": change_sets.get(it)}
        for it in names
    ]
    found = []
    for stack, pair, told in zip(names, pairs, _described(pairs), strict=True):
        resources = [pair[side].get("Resources", {}) for side in ("before", "after")]
        changes = tuple(
            Change(
                stack=stack,
                id=it["id"],
                type=it["type"],
                impact=_impact(it),
                properties=tuple(it["properties"]),
                before=resources[0].get(it["id"], {}),
                after=resources[1].get(it["id"], {}),
            )
            for it in told["changes"]
            if _impact(it) != NO_CHANGE
        )
        if changes:
            found.append(StackDifference(stack, changes, told["text"]))
    return found


def _impact(change: dict[str, Any]) -> str:
    """Return what happens to a resource; the CDK says nothing of those whose type it lacks.

    A custom resource is told of "any change to the properties of the custom resource within the
    template" (CloudFormation user guide, crpg-ref-requesttypes-update).
    """
    impact: str = change["impact"]
    return "WILL_UPDATE" if impact == NO_CHANGE and change["properties"] else impact


def _described(pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ask the script, by a line, for a line."""
    to, out = _script()
    to.write(json.dumps(pairs, default=str) + "\n")  # a change set has dates
    to.flush()
    described: list[dict[str, Any]] = json.loads(out.readline())
    return described


@cache
def _script() -> tuple[IO[str], IO[str]]:
    """Start the script once: it takes a second to read what the CDK knows of all properties."""
    process = subprocess.Popen(
        ["node", str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )
    atexit.register(process.communicate)  # without more input, it ends
    assert process.stdin
    assert process.stdout
    return process.stdin, process.stdout
