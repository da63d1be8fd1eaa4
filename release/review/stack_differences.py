"""Differences between templates before and after, computed by @aws-cdk/cloudformation-diff."""

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
    """A changed resource; `impact` is the CDK's name for CloudFormation's action on it."""

    stack: str
    id: str
    type: str
    impact: str
    properties: tuple[str, ...]
    before: dict[str, Any] = field(repr=False)
    after: dict[str, Any] = field(repr=False)

    @property
    def path(self) -> str:
        """The construct's path below its stack."""
        metadata = (self.after or self.before).get("Metadata", {})
        path: str = metadata.get("aws:cdk:path", self.id)
        return path.partition("/")[2].removesuffix("/Resource") or self.id


@dataclass(frozen=True)
class StackDifference:
    """The changes of a stack, with the output of `cdk diff`."""

    stack: str
    changes: tuple[Change, ...]
    text: str


def stack_differences(
    before: dict[str, Template], after: dict[str, Template]
) -> list[StackDifference]:
    """Return the differences of each stack that changes."""
    stacks = sorted(
        stack for stack in before.keys() | after.keys() if before.get(stack) != after.get(stack)
    )
    pairs = [(before.get(stack, {}), after.get(stack, {})) for stack in stacks]
    changed_stacks = []
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
            changed_stacks.append(StackDifference(stack, changes, difference["text"]))
    return changed_stacks


def _impact(change: dict[str, Any]) -> str:
    """Return the impact on a resource, also for custom resources.

    A custom resource is updated on "any change to the properties of the custom resource within the
    template" (CloudFormation user guide, crpg-ref-requesttypes-update). The CDK reports NO_CHANGE.
    """
    impact: str = change["impact"]
    return "WILL_UPDATE" if impact == NO_CHANGE and change["properties"] else impact


def _differences(pairs: list[tuple[Template, Template]]) -> list[dict[str, Any]]:
    """Return the output of diff.mjs for pairs of templates."""
    if not pairs:
        return []
    stdin, stdout = _diff_process()
    stdin.write(json.dumps(pairs) + "\n")
    stdin.flush()
    output: list[dict[str, Any]] = json.loads(stdout.readline())
    return output


@cache
def _diff_process() -> tuple[IO[str], IO[str]]:
    """Start diff.mjs once, because loading the CDK's database of properties takes a second."""
    process = subprocess.Popen(
        ["node", str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )
    atexit.register(process.communicate)  # closes stdin, which ends the process
    assert process.stdin
    assert process.stdout
    return process.stdin, process.stdout
