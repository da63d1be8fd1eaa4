"""Instance types to choose when AWS has no capacity for those in the stage's file."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

import checked_yaml
import platform_facts
from platform_facts import AMPERE, ComputeCapability, InstanceType, Release, Support
from platform_facts.rules import pools
from platform_facts.rules.variants import gpu_of_release
from release.preflight.answers import why
from release.preflight.clients import client
from release.preflight.quotas import SAGEMAKER, instances_quota
from release.preflight.service_quotas import AccountQuota, ServiceQuotas
from release.tree import Tree

CODE = "InsufficientInstanceCapacity"
"""In an endpoint's FailureReason, which CloudFormation repeats: "Unable to provision requested ML
compute capacity due to InsufficientInstanceCapacity error. [...]" (aws/deep-learning-containers,
tests of SageMaker endpoints). It names no variant and no instance type."""
PROPOSED = 2
"""How many more types a proposed pool has: our choice."""
SHOWN = 5
"""How many fitting types are listed: our choice."""

Types = Sequence[InstanceType]
Endpoint = Mapping[str, Any]
"""An endpoint of a stage's plan."""


def advice(
    message: str, plan: Mapping[str, Any], tree: Tree, session: boto3.Session
) -> Iterator[str]:
    """Yield a message for each endpoint without capacity in the error message of a deploy.

    `plan` is that of the stage in `tree`, `session` is in its region.
    """
    endpoints = plan.get("endpoints", {})
    names = {f"{plan['stage']}-{name}": name for name in endpoints}
    names |= {endpoint["name"]: name for name, endpoint in endpoints.items()}
    for short_name in _without_capacity(message, names):
        offer, file = _Offer.of(session), f"stages/{plan['stage']}.yaml"
        for keys, text in _fixes(("endpoints", short_name), endpoints[short_name], offer):
            line = checked_yaml.line_of(tree.root / file, *keys)
            yield f"{file}:{line}: {'.'.join(keys)}: {text}"


def _without_capacity(message: str, short_names: Mapping[str, str]) -> list[str]:
    """Return the short names of the endpoints whose error is that there is no capacity.

    `short_names` are by the names of endpoints and their stacks. An error has one of them on the
    line of the reason, or on one before it: the cdk CLI wraps its lines.
    """
    lacking, newest = dict[str, None](), None
    for line in message.splitlines():
        for name, short_name in short_names.items():
            if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", line):
                newest = short_name
        if CODE in line and newest:
            lacking[newest] = None
    return list(lacking)


@dataclass(frozen=True)
class _Offer:
    """The account's quotas in a region by name; `unread` is the reason if they are unknown."""

    region: str
    quotas: Mapping[str, AccountQuota]
    unread: str = ""

    @classmethod
    def of(cls, session: boto3.Session) -> "_Offer":
        """Return the quotas in the session's region."""
        region, quotas = str(session.region_name), ServiceQuotas(client(session, "service-quotas"))
        try:
            return cls(region, quotas.of(SAGEMAKER))
        except (ClientError, BotoCoreError) as error:
            return cls(region, {}, unread=f"; their quotas are unknown: {why(error)}")

    def fix(self, types: Types, fitting: Types, *, pool: bool) -> str:
        """Return the problem and the line to write: a pool with more types, or another type."""
        problem = f"no capacity in {self.region} for {' or '.join(each.name for each in types)}"
        usable = [each for each in fitting if self.unread or self._quota(each)]
        if not usable:
            names = ", ".join(each.name for each in fitting[:SHOWN])
            ask = f"no quota for a type that fits: ask AWS for one of {names}"
            return f"{problem}, and {ask if names else 'no other type fits: deploy again later'}"
        more = [each.name for each in usable[: PROPOSED if pool else 1]]
        line = f"instance_type: {more[0]}"
        if pool:
            kept = [each.name for each in types[: pools.MAX_TYPES - len(more)]]
            line = f"instance_types: [{', '.join([*kept, *more])}]"
        shown = ", ".join(self._shown(types[0], each) for each in usable[:SHOWN])
        return f"{problem}: write {line}. What fits: {shown}{self.unread}"

    def _shown(self, own: InstanceType, other: InstanceType) -> str:
        archive = "the same archive" if _share_archive(own, other) else "an archive of its own"
        return f"{other.name} ({', '.join([archive, *map(str, self._quota(other))])})"

    def _quota(self, instance_type: InstanceType) -> list[AccountQuota]:
        """Return the quota of a type in a list; empty if it allows no instance."""
        quota = self.quotas.get(instances_quota(instance_type.name))
        return [quota] if quota and quota.value >= 1 else []


def _fixes(
    keys: tuple[str, ...], endpoint: Endpoint, offer: _Offer
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield key path and message: one for the endpoint if all variants have the same types."""
    variants = {
        name: [platform_facts.instance_type(pool["instance_type"]) for pool in variant["pools"]]
        for name, variant in endpoint["variants"].items()
    }
    every = list(variants.values())
    if all(types == every[0] for types in every):
        has_pools = len(every[0]) > 1 or platform_facts.region(offer.region).instance_pools
        pool = endpoint["hosting"] == "single-model" and has_pools
        yield keys, offer.fix(every[0], _fitting(every[0], endpoint), pool=pool)
        return
    for name, types in variants.items():
        fitting = _fitting(types, endpoint)
        yield (*keys, "variants", name), offer.fix(types, fitting, pool=False)


def _fitting(types: Types, endpoint: Endpoint) -> list[InstanceType]:
    """Return more types that serve the models of an endpoint.

    They are sorted by similar size, then the same archive, then newer GPUs. They have the same
    number of GPUs, or of vCPUs without GPUs, because utilisation metrics are sums over them.
    Whether the models fit into the memory of another GPU is unknown here.
    """
    own, first = types[0], next(iter(endpoint["variants"].values()))["pools"][0]
    release = platform_facts.release(first["target"].split("-")[1])  # as in cuda-25.09-sm86
    many_models = endpoint["hosting"] == "multi-model"
    has_engines = any(endpoint["engines"].values())
    fitting = [
        other
        for other in platform_facts.instance_types()
        if other not in types
        and not any(_rule_violations([*types, other], release, many_models=many_models))
        and (_share_archive(own, other) or not has_engines or _compiled_across(other))
        and (other.multi_model is Support.YES or not many_models)
    ]
    fitting.sort(key=lambda other: _capability(other) or AMPERE, reverse=True)
    return sorted(
        fitting, key=lambda other: (abs(other.vcpus - own.vcpus), not _share_archive(own, other))
    )


def _rule_violations(types: Types, release: Release, *, many_models: bool) -> Iterator[object]:
    yield from pools.one_processor(types)
    if not many_models:  # multi-model endpoints have one type
        yield from pools.one_storage(types)
        yield from pools.one_driver(types, release)
    yield from (pools.comparable_gpus if types[0].gpu else pools.comparable_vcpus)(types)
    yield from gpu_of_release(types[-1], release)


def _share_archive(own: InstanceType, other: InstanceType) -> bool:
    """Return whether two types load the same archive."""
    return _capability(own) == _capability(other)


def _compiled_across(other: InstanceType) -> bool:
    """Return whether engines for a type are compiled on another kind of GPU."""
    return other.gpu is not None and other.gpu.compute_capability >= AMPERE


def _capability(instance_type: InstanceType) -> ComputeCapability | None:
    return instance_type.gpu.compute_capability if instance_type.gpu else None
