"""What changes in stacks that stay, and no other part of the review says."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Set
from typing import Any

from release.review.comparison import Comparison
from release.review.dangers.replaced_resources import ELSEWHERE, NORMAL
from release.review.differences import Change, StackDifference
from release.review.grants import denials, grants, in_words, paths
from release.review.notes import counted
from release.tree import Template

MOST = 8
"""More parts than these of one stack are in its difference alone."""

LONGEST = 60
"""Characters of a value; a longer one is not shown."""

_ELSEWHERE = re.compile(
    r"""
    # access: dangers, what new roles may do, and what is said here of access that goes
    .*/(PolicyDocument|AssumeRolePolicyDocument|KeyPolicy)(/Statement.*)?
    | .*/ManagedPolicyArns
    | AWS::IAM::Role/Policies(/.*)?
    | AWS::Lambda::Permission/.*
    # the endpoint's sentence
    | AWS::SageMaker::EndpointConfig/ProductionVariants/
      (InstanceType|InitialVariantWeight|ModelName|VariantName)
    | AWS::SageMaker::EndpointConfig/DataCaptureConfig/
      (EnableCapture|InitialSamplingPercentage|CaptureOptions(/.*)?)
    | AWS::SageMaker::Endpoint/EndpointName
    | AWS::SageMaker::Endpoint/DeploymentConfig/
      (BlueGreenUpdatePolicy/TrafficRoutingConfiguration|RollingUpdatePolicy/MaximumBatchSize)(/.*)?
    | AWS::SageMaker::Model/PrimaryContainer/(Mode|Environment(/.*)?|MultiModelConfig(/.*)?)
    | AWS::ApplicationAutoScaling::ScalableTarget/(MinCapacity|MaxCapacity|ScheduledActions(/.*)?)
    | AWS::ApplicationAutoScaling::ScalingPolicy/TargetTrackingScalingPolicyConfiguration/
      (TargetValue|ScaleInCooldown|ScaleOutCooldown)
    # models, and the builder's code
    | Custom::TritonModel/(Digest|Target)
    | Custom::TritonUpdateGuard/(Archives|Deployment(/.*)?)
    | AWS::CodeBuild::Project/Source(/.*)?
    # text and pictures for people
    | .*/(\w*Description|DashboardBody)
    """,
    re.VERBOSE,
)
"""Type and property, as `TYPE/Property/Property`, of what other parts of the review say, or nobody
needs to be told. What the change mutations of tests/review_changes find silent is listed there."""

_NEW_VERSION = {"Digest", "Target", "Value.version"}
_OF_A_VERSION = re.compile(
    r"Custom::TritonModel/(Alternative|Key|Source)|AWS::SSM::Parameter/Value"
)
"""What another version of a model, or target, brings with it: the table of models says it."""

_TOLD = (
    "AWS::ApplicationAutoScaling::ScalableTarget",
    "AWS::SSM::Parameter",
    "AWS::SageMaker::Endpoint",
    "AWS::SageMaker::EndpointConfig",
    "AWS::SageMaker::Model",
    "Custom::TritonModel",
)
"""Types in an endpoint's stack whose coming and going its sentence says."""


def other_changes(comparison: Comparison) -> Iterator[str]:
    """Yield a note for each stack that stays, of all that changes and has no sentence of its own.

    What a reviewer is not told, nobody looks for: a property is here unless something else says it.
    """
    if comparison.moves:
        return
    before, after = comparison.sides
    differences = {it.stack: it for it in comparison.stacks}
    for stack in sorted(before.keys() & after.keys()):
        parts = [*_sections(before[stack], after[stack])]
        if stack in differences:
            parts += _lost_access(before[stack], after[stack])
            if stack in comparison.endpoints:
                parts += _come_and_gone(differences[stack])
            stay = before[stack]["Resources"].keys() & after[stack]["Resources"].keys()
            parts += _properties(differences[stack], stay)
        if parts:
            more = [f"{len(parts) - MOST} more in the difference"] if len(parts) > MOST else []
            yield f"**{stack}**, also: {'; '.join([*parts[:MOST], *more])}"


def _sections(before: Template, after: Template) -> Iterator[str]:
    for name in sorted((before.keys() | after.keys()) - {"Resources"}):
        if before.get(name) != after.get(name):
            yield f"other {name}"


def _lost_access(before: Template, after: Template) -> Iterator[str]:
    """Yield what those who stay may no longer do: what they do may fail."""
    stay = paths(before) & paths(after)
    old, new = grants(before), grants(after)
    lost = {it for it in old if not any(more.covers(it) for more in new)}
    forbidden = denials(after) - denials(before)
    for found, verb in ((lost, "may no longer"), (forbidden, "is now forbidden to")):
        yield from in_words({it for it in found if (it.guarded or it.who) in stay}, verb)


def _come_and_gone(stack: StackDifference) -> Iterator[str]:
    changes = tuple(
        it for it in stack.changes if not (it.before and it.after) and it.type not in _TOLD
    )
    if changes:
        yield counted(changes)


def _properties(stack: StackDifference, stay: Set[str]) -> Iterator[str]:
    """Yield every property once, with the resource, or how many resources, it changes in."""
    where: dict[tuple[str, str], list[tuple[Change, str]]] = {}
    for change in stack.changes:
        if change.impact == "WILL_REPLACE" and change.type not in (*NORMAL, *ELSEWHERE):
            continue  # a danger, with its properties
        if change.before and change.after:
            for name, said in _differing(change, stay):
                kind = "resource" if name == "Tags" else change.type
                where.setdefault((kind, name), []).append((change, said))
    for (kind, name), found in sorted(where.items(), key=lambda it: it[0]):
        texts = {text for _, text in found}
        resources = {change.id: change.path for change, _ in found}
        whose = f"{kind} {next(iter(resources.values()))}"
        if len(resources) > 1:
            whose = f"{len(resources)} {kind}{'s' if kind == 'resource' else ''}"
        yield f"{name} of {whose}{': ' + texts.pop() if len(texts) == 1 else ''}"


def _differing(change: Change, stay: Set[str]) -> Iterator[tuple[str, str]]:
    """Yield name and values of what is other, and said nowhere else.

    What a resource waits for is another thing where that stays: what is new, or goes, is said.
    """
    waits = [{*_listed(it.get("DependsOn", []))} & stay for it in (change.before, change.after)]
    for other in sorted(waits[0] ^ waits[1]):
        yield "DependsOn", f"{other} {'new' if other in waits[1] else 'gone'}"
    names = change.before.keys() | change.after.keys()
    for name in sorted(names - {"DependsOn", "Metadata", "Properties"}):
        if change.before.get(name) != change.after.get(name):
            yield name, _arrow(change.before.get(name), change.after.get(name))
    old, new = (_readable(it.get("Properties", {})) for it in (change.before, change.after))
    leaves = list(_leaves(old, new))
    names = {".".join(steps) for steps, _, _ in leaves}
    if names & _NEW_VERSION:
        leaves = [it for it in leaves if not _OF_A_VERSION.fullmatch(f"{change.type}/{it[0][0]}")]
    for steps, was, now in leaves:
        if steps[0] == "Tags":
            yield "Tags", _arrow(was, now)
        elif not _ELSEWHERE.fullmatch("/".join((change.type, *steps))):
            yield ".".join(steps), _arrow(was, now)


def _readable(properties: dict[str, Any]) -> dict[str, Any]:
    """Return properties with the JSON of a catalog's entry as what it says."""
    match properties.get("Value"):
        case str(value) if value.startswith("{"):
            return {**properties, "Value": json.loads(value)}
    return properties


def _leaves(
    before: Any, after: Any, steps: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Yield where two values differ, as deep as both have the same form; None is what is not there.

    Items of a list have no step of their own.
    """
    if before == after:
        return
    match before, after:
        case dict(), dict() if not (_is_function(before) or _is_function(after)):
            for name in sorted(before.keys() | after.keys()):
                yield from _leaves(before.get(name), after.get(name), (*steps, name))
        case list(), list() if len(before) == len(after):
            for was, now in zip(before, after, strict=True):
                yield from _leaves(was, now, steps)
        case list(), list():
            old, new = (Counter(json.dumps(it, sort_keys=True) for it in side)
                        for side in (before, after))  # fmt: skip
            for item in sorted((old - new).elements()):
                yield from _whole(json.loads(item), None, steps)
            for item in sorted((new - old).elements()):
                yield from _whole(None, json.loads(item), steps)
        case _:
            yield from _whole(before, after, steps)


def _whole(
    before: Any, after: Any, steps: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Yield the parts of what comes or goes as a whole: each may be said elsewhere, or not."""
    match before, after:
        case (dict() as parts, None) | (None, dict() as parts) if not _is_function(parts):
            for name, it in sorted(parts.items()):
                was, now = (it, None) if before is not None else (None, it)
                yield from _whole(was, now, (*steps, name))
        case _:
            yield steps, before, after


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_function(value: dict[str, Any]) -> bool:
    return len(value) == 1 and all(it == "Ref" or it.startswith("Fn::") for it in value)


def _arrow(before: Any, after: Any) -> str:
    was, now = (_shown(it) for it in (before, after))
    if was is None or now is None:
        return "new" if before is None else "gone" if after is None else "another"
    return f"{was} -> {now}"


def _shown(value: Any) -> str | None:
    """Return a value as text, None where that is too long to be read."""
    if value is None:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= LONGEST and "\n" not in text else None
