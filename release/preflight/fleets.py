"""The instances that a deploy of a stage's endpoints holds, at its peak."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from release.preflight.account import Account
from release.stage_resources import StackEndpoint, references, stack_endpoints
from release.tree import Template

Instances = Counter[str]
"""Instance type -> instances."""


@dataclass(frozen=True)
class Peak:
    """The instances of one type, or of all: those that run, and those at the peak of a deploy.

    A delivery deploys the stacks of endpoints side by side, so that all they start counts at once.
    `most` is where scaling may bring it. `starts`: the deploy starts one.
    """

    running: int
    needed: int
    most: int

    @property
    def starts(self) -> bool:
        """Whether the deploy starts an instance."""
        return self.needed > self.running

    def __add__(self, other: "Peak") -> "Peak":
        return Peak(
            self.running + other.running, self.needed + other.needed, self.most + other.most
        )


def endpoints(account: Account) -> list[StackEndpoint]:
    """Return the endpoints that are to be deployed."""
    return [
        endpoint
        for stack, template in account.templates.items()
        for endpoint in stack_endpoints(account.stage, stack, template)
    ]


def peaks(account: Account, *, preferred: bool = False) -> dict[str, Peak]:
    """Return the peak of every instance type that runs or is to be deployed.

    A variant may have all its instances of any of its types, or only of the `preferred` one.
    """
    running, added, most = Instances(), Instances(), Instances()
    declared = {endpoint.name for endpoint in endpoints(account)}
    for endpoint in account.running.values():
        for counts in endpoint.variants.values():
            for instance_type, count in counts.items():
                running[instance_type] += count
                most[instance_type] += 0 if endpoint.name in declared else count
    for declared_endpoint in endpoints(account):
        _count(account, declared_endpoint, added, most, 1 if preferred else None)
    return {
        name: Peak(running[name], running[name] + added[name], most[name]) for name in sorted(most)
    }


def _count(
    account: Account,
    endpoint: StackEndpoint,
    added: Instances,
    most: Instances,
    types: int | None,
) -> None:
    """Count what a deploy starts beside what runs: nothing where the endpoint does not change.

    Of each variant, for its first `types`, or for all.
    """
    running = account.running.get(endpoint.name)
    after = account.templates[endpoint.stack]
    changes = running is None or _changes(
        account.deployed_template(endpoint.stack), after, endpoint.logical_id
    )
    for variant in endpoint.variants:
        count = variant.initial
        if running is not None and endpoint.properties.get("RetainAllVariantProperties"):
            count = sum(running.variants.get(variant.name, {"": count}).values())
        for name in variant.instance_types[:types]:
            most[name] += max(variant.maximum, count)
            if changes:
                added[name] += count if running is None else _started(endpoint.properties, count)


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
    """Return whether an endpoint is updated: it, its configuration or a model of that differs.

    A change of DeploymentConfig alone counts: that it starts no fleet is written nowhere. Tags
    change in place (CloudFormation's schemas of the three types: tagUpdatable, not create-only).
    """
    return before is None or dict(_behind(before, endpoint)) != dict(_behind(after, endpoint))


def _behind(template: Template, logical_id: str) -> Iterator[tuple[str, str]]:
    resource = template["Resources"].get(logical_id)
    if resource is None or not resource["Type"].startswith("AWS::SageMaker::"):
        return
    properties = {**resource.get("Properties", {})}
    properties.pop("Tags", None)
    yield logical_id, json.dumps(properties, sort_keys=True)
    for name in set(references(properties)):
        yield from _behind(template, name)
