"""Differences between two sets of templates, by @aws-cdk/cloudformation-diff."""

import atexit
import json
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any

from release.tree import Template

SCRIPT = Path(__file__).parent / "diff.mjs"
NO_CHANGE = "NO_CHANGE"


@dataclass(frozen=True)
class Change:
    """A resource that differs; `impact` is the CDK's name for CloudFormation's action on it."""

    stack: str
    id: str
    type: str
    impact: str
    properties: tuple[str, ...]
    before: dict[str, Any] = field(repr=False)
    after: dict[str, Any] = field(repr=False)

    @property
    def path(self) -> str:
        """The path of the construct below its stack."""
        metadata = (self.after or self.before).get("Metadata", {})
        path: str = metadata.get("aws:cdk:path", self.id)
        return path.partition("/")[2].removesuffix("/Resource") or self.id


@dataclass(frozen=True)
class StackDifference:
    """The changes of a stack, and the text that `cdk diff` shows for them."""

    stack: str
    changes: tuple[Change, ...]
    text: str


def differences(before: dict[str, Template], after: dict[str, Template]) -> list[StackDifference]:
    """Return the differences of each stack that has some."""
    stacks = sorted(
        stack for stack in before.keys() | after.keys() if before.get(stack) != after.get(stack)
    )
    pairs = [(before.get(stack, {}), after.get(stack, {})) for stack in stacks]
    every = []
    for stack, pair, difference in zip(stacks, pairs, _differences(pairs), strict=True):
        old, new = (side.get("Resources", {}) for side in pair)
        changes = tuple(
            Change(
                stack,
                logical_id := change["id"],
                change["type"],
                _impact(change),
                tuple(change["properties"]),
                old.get(logical_id, {}),
                new.get(logical_id, {}),
            )
            for change in difference["changes"]
            if _impact(change) != NO_CHANGE
        )
        if changes:
            every.append(StackDifference(stack, changes, difference["text"]))
    return every


def _impact(change: dict[str, Any]) -> str:
    """Return the impact on a resource, also for types that the CDK does not know.

    A custom resource is updated on "any change to the properties of the custom resource within the
    template" (CloudFormation user guide, crpg-ref-requesttypes-update).
    """
    impact: str = change["impact"]
    return "WILL_UPDATE" if impact == NO_CHANGE and change["properties"] else impact


def _differences(pairs: list[tuple[Template, Template]]) -> list[dict[str, Any]]:
    """Return the script's output for pairs of templates: one line of JSON for one line."""
    if not pairs:
        return []
    stdin, stdout = _script()
    stdin.write(json.dumps(pairs) + "\n")
    stdin.flush()
    answer: list[dict[str, Any]] = json.loads(stdout.readline())
    return answer


@cache
def _script() -> tuple[IO[str], IO[str]]:
    """Start the script once: loading the CDK's database of properties takes a second."""
    process = subprocess.Popen(
        ["node", str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )
    atexit.register(process.communicate)  # it ends at the end of its input
    assert process.stdin
    assert process.stdout
    return process.stdin, process.stdout
