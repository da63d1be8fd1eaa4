"""Differences between templates before and after, computed by @aws-cdk/cloudformation-diff."""

import atexit
import json
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any

from plan.document import DIGEST_OUTPUT
from release.templates import Template

SCRIPT = Path(__file__).parent / "diff.mjs"
NO_CHANGE = "NO_CHANGE"


@dataclass(frozen=True)
class ResourceChange:
    """A changed resource.

    id: logical ID.
    impact: the CDK's name for CloudFormation's action on the resource, such as WILL_UPDATE.
    properties: names of the changed properties.
    before, after: the resource in the templates, empty if it does not exist.
    """

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
    changes: tuple[ResourceChange, ...]
    text: str


def stack_differences(
    before: dict[str, Template], after: dict[str, Template]
) -> list[StackDifference]:
    """Return the differences of each stack that changes."""
    stacks = sorted(
        stack for stack in before.keys() | after.keys() if before.get(stack) != after.get(stack)
    )
    template_pairs = [
        (_without_plan(before.get(stack, {})), _without_plan(after.get(stack, {})))
        for stack in stacks
    ]
    stack_outputs = _diff_output(template_pairs)
    changed_stacks = []
    for stack, pair, output in zip(stacks, template_pairs, stack_outputs, strict=True):
        old, new = (template.get("Resources", {}) for template in pair)
        changes = tuple(
            ResourceChange(
                stack,
                logical_id := change["id"],
                change["type"],
                _impact(change),
                tuple(change["properties"]),
                old.get(logical_id, {}),
                new.get(logical_id, {}),
            )
            for change in output["changes"]
            if _impact(change) != NO_CHANGE
        )
        if changes:
            changed_stacks.append(StackDifference(stack, changes, output["text"]))
    return changed_stacks


def _without_plan(template: Template) -> Template:
    """Return a template without its plan, whose differences have sentences."""
    outputs = {key: value for key, value in template.get("Outputs", {}).items()
               if key != DIGEST_OUTPUT}  # fmt: skip
    return {**template, "Metadata": {}, "Outputs": outputs} if template else {}


def _impact(change: dict[str, Any]) -> str:
    """Return the impact on a resource, also for custom resources.

    A custom resource is updated on "any change to the properties of the custom resource within the
    template" (CloudFormation user guide, crpg-ref-requesttypes-update). The CDK reports NO_CHANGE.
    """
    impact: str = change["impact"]
    return "WILL_UPDATE" if impact == NO_CHANGE and change["properties"] else impact


def _diff_output(template_pairs: list[tuple[Template, Template]]) -> list[dict[str, Any]]:
    """Return the output of diff.mjs for each pair of templates."""
    if not template_pairs:
        return []
    stdin, stdout = _diff_process()
    stdin.write(json.dumps(template_pairs) + "\n")
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
