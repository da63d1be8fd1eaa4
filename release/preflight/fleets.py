"""The number of instances at the peak of a deploy of a stage's endpoints."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from release.preflight.account import Account
from release.preflight.running_endpoints import RunningEndpoint
from release.stack_endpoints import StackEndpoint, StackVariant, stack_endpoints
from release.template_resources import references
from release.tree import Template

Instances = Counter[str]
"""Instance type -> number of instances."""


@dataclass(frozen=True)
class Peak:
    """Numbers of instances, of one type or of all types.

    `running` is the current number, `needed` the number at the peak of a deploy, which updates all
    endpoints in parallel, and `maximum` the number if scaling reaches its maximum.
    """

    running: int
    needed: int
    maximum: int


def endpoints(account: Account) -> list[StackEndpoint]:
    """Return the endpoints in the assembly."""
    return stack_endpoints(account.stage, account.templates)


def instance_types(account: Account) -> set[str]:
    """Return the instance types of the endpoints in the assembly."""
    variants = (variant for endpoint in endpoints(account) for variant in endpoint.variants)
    return {name for variant in variants for name in variant.instance_types}


def peaks(account: Account, *, only_preferred: bool = False) -> dict[str, Peak]:
    """Return the peak of every instance type that runs or will be deployed.

    All instances of a variant count for each of its types; with `only_preferred`, for its first
    type.
    """
    running, added, maximum = Instances(), Instances(), Instances()
    new_endpoints = {endpoint.name: endpoint for endpoint in endpoints(account)}
    for name, running_endpoint in account.running_endpoints.items():
        for counts in running_endpoint.variants.values():
            running.update(counts)
            if name not in new_endpoints:
                maximum.update(counts)
    for name, endpoint in new_endpoints.items():
        is_updated = _is_updated(account, endpoint)
        for variant in endpoint.variants:
            count = _instance_count(account.running_endpoints.get(name), endpoint, variant)
            for instance_type in variant.instance_types[: 1 if only_preferred else None]:
                maximum[instance_type] += max(variant.maximum, count)
                if name not in account.running_endpoints:
                    added[instance_type] += count
                elif is_updated:
                    added[instance_type] += _added_instances(endpoint.properties, count)
    return {
        name: Peak(running[name], running[name] + added[name], maximum[name])
        for name in sorted(maximum)
    }


def _instance_count(
    running: RunningEndpoint | None, endpoint: StackEndpoint, variant: StackVariant
) -> int:
    """Return the instance count of a variant after a deploy, which may keep the scaled count."""
    if running is None or not endpoint.properties.get("RetainAllVariantProperties"):
        return variant.initial
    counts = running.variants.get(variant.name, {"": variant.initial})
    return sum(counts.values())


def _added_instances(properties: Any, count: int) -> int:
    """Return the number of new instances of a variant that run beside the old ones in an update.

    A blue/green update starts all of them, a rolling update one batch (developer guide,
    deployment-guardrails-rolling). A percentage is rounded down, to at least one: 33 % of 3 is 1 in
    AWS's notebook on rolling deployments (aws/amazon-sagemaker-examples).
    """
    rolling = properties.get("DeploymentConfig", {}).get("RollingUpdatePolicy")
    if rolling is None:
        return count
    batch = rolling["MaximumBatchSize"]
    if batch["Type"] == "INSTANCE_COUNT":
        return min(count, int(batch["Value"]))
    return max(1, count * int(batch["Value"]) // 100)


def _is_updated(account: Account, endpoint: StackEndpoint) -> bool:
    """Return whether an endpoint, its configuration or a model of that configuration changes.

    A change of DeploymentConfig counts, because no source says that it starts no instances. Tags
    change in place (CloudFormation's schemas of the three types: tagUpdatable, not create-only).
    """
    deployed, new = account.deployed_template(endpoint.stack), account.templates[endpoint.stack]
    if deployed is None:
        return True
    name = endpoint.logical_id
    return dict(_referenced_resources(deployed, name)) != dict(_referenced_resources(new, name))


def _referenced_resources(template: Template, logical_id: str) -> Iterator[tuple[str, str]]:
    """Yield logical id and properties of a SageMaker resource and of resources it refers to."""
    resource = template["Resources"].get(logical_id)
    if resource is None or not resource["Type"].startswith("AWS::SageMaker::"):
        return
    properties = {**resource.get("Properties", {})}
    properties.pop("Tags", None)
    yield logical_id, json.dumps(properties, sort_keys=True)
    for name in set(references(properties)):
        yield from _referenced_resources(template, name)
