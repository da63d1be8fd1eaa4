"""The instances that a deploy of a stage's endpoints holds, at its peak."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from release.preflight.account import Account
from release.preflight.references import references
from release.tree import Template

ENDPOINT, CONFIG = "AWS::SageMaker::Endpoint", "AWS::SageMaker::EndpointConfig"
SCALABLE = "AWS::ApplicationAutoScaling::ScalableTarget"

Instances = Counter[str]
"""Instance type -> instances."""


@dataclass(frozen=True)
class Fleet:
    """What the deploy of one endpoint starts.

    `added` is what is started beside what runs: nothing where the endpoint does not change. `most`
    is what scaling may ask for.
    """

    endpoint: str
    added: Instances
    most: Instances


@dataclass(frozen=True)
class Peak:
    """The instances of one type: those that run, and those needed at the peak of a deploy.

    A delivery deploys the stacks of endpoints side by side, so that all they start counts at once.
    `most` is where scaling may bring it. `starts`: the deploy starts one.
    """

    running: int
    needed: int
    most: int
    starts: bool


def fleets(account: Account) -> list[Fleet]:
    """Return what the stage's endpoints start."""
    return [_fleet(account, stack, name, it) for stack, name, it in account.resources(ENDPOINT)]


def peaks(account: Account) -> dict[str, Peak]:
    """Return the peak of every instance type that the stage's endpoints have."""
    found = fleets(account)
    declared = {it.endpoint for it in found}
    running: Instances = Counter()
    others: Instances = Counter()
    for endpoint in account.running.values():
        for kind, count in endpoint.variants.values():
            running[kind] += count
            others[kind] += 0 if endpoint.name in declared else count
    return {
        kind: Peak(
            running=running[kind],
            needed=running[kind] + sum(it.added[kind] for it in found),
            most=others[kind] + sum(it.most[kind] for it in found),
            starts=any(it.added[kind] for it in found),
        )
        for kind in sorted({kind for it in found for kind in it.most})
    }


def _fleet(account: Account, stack: str, logical_id: str, properties: Any) -> Fleet:
    template = account.templates[stack]
    name = str(properties["EndpointName"])
    variants = template["Resources"][properties["EndpointConfigName"]["Fn::GetAtt"][0]][
        "Properties"
    ]["ProductionVariants"]
    running = account.running.get(name)
    added: Instances = Counter()
    most: Instances = Counter()
    ceilings = _ceilings(template)
    changes = running is None or _changes(account.deployed_template(stack), template, logical_id)
    for variant in variants:
        kind, count = variant["InstanceType"], int(variant["InitialInstanceCount"])
        if running is not None and properties.get("RetainAllVariantProperties"):
            count = running.variants.get(variant["VariantName"], (kind, count))[1]
        most[kind] += max(
            ceilings.get(f"endpoint/{name}/variant/{variant['VariantName']}", 0), count
        )
        if changes:
            added[kind] += count if running is None else _started(properties, count)
    return Fleet(name, added, most)


def _started(properties: Any, count: int) -> int:
    """Return how many new instances of a variant run beside the old ones.

    All of them: blue/green, in each of its three ways; of a rolling update, one batch (developer
    guide, deployment-guardrails-rolling), of a percentage whole instances and at least one: 33 % of
    3 is 1 in AWS's notebook on rolling deployments (aws/amazon-sagemaker-examples).
    """
    rolling = properties.get("DeploymentConfig", {}).get("RollingUpdatePolicy")
    if rolling is None:
        return count
    batch = rolling["MaximumBatchSize"]
    if batch["Type"] == "INSTANCE_COUNT":
        return min(count, int(batch["Value"]))
    return max(1, count * int(batch["Value"]) // 100)


def _changes(before: Template | None, after: Template, endpoint: str) -> bool:
    """Whether a deploy updates an endpoint: it, its configuration or a model of that differs.

    A change of DeploymentConfig alone counts: that it starts no fleet is written nowhere. Tags
    change in place (CloudFormation's schemas of the three types: tagUpdatable, not create-only).
    """
    if before is None:
        return True
    return dict(_behind(before, endpoint)) != dict(_behind(after, endpoint))


def _behind(template: Template, logical_id: str) -> Iterator[tuple[str, str]]:
    resource = template["Resources"].get(logical_id)
    if resource is None or not resource["Type"].startswith("AWS::SageMaker::"):
        return
    properties = {**resource.get("Properties", {})}
    properties.pop("Tags", None)
    yield logical_id, json.dumps(properties, sort_keys=True)
    for name in set(references(resource.get("Properties", {}))):
        yield from _behind(template, name)


def _ceilings(template: Template) -> dict[str, int]:
    """Return what scaling may bring each variant to, by its resource id."""
    return {
        str(it["Properties"]["ResourceId"]): max(
            int(limits["MaxCapacity"])
            for limits in (
                it["Properties"],
                *(
                    action["ScalableTargetAction"]
                    for action in it["Properties"].get("ScheduledActions", ())
                ),
            )
        )
        for it in template["Resources"].values()
        if it["Type"] == SCALABLE
    }
