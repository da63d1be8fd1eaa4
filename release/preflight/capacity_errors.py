"""Proposals of other instance types if AWS has no capacity for the types in the stage's file."""

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
from platform_facts.rules.variants import check_gpu_release
from release.preflight.clients import client
from release.preflight.failure_reasons import failure_reason
from release.preflight.quotas import SAGEMAKER, instances_quota
from release.preflight.service_quotas import AccountQuota, ServiceQuotas
from release.tree import Tree

ERROR_CODE = "InsufficientInstanceCapacity"
"""The error code in an endpoint's FailureReason, which CloudFormation repeats: "Unable to provision
requested ML compute capacity due to InsufficientInstanceCapacity error. [...]"
(aws/deep-learning-containers, tests of SageMaker endpoints). The reason has neither variant nor
instance type."""
ADDED_TYPES = 2
"""Number of types that a proposal adds to a pool: our choice."""
LISTED_TYPES = 5
"""Number of suitable types in a message: our choice."""

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
        quotas, file = _RegionQuotas.read(session), f"stages/{plan['stage']}.yaml"
        for keys, text in _proposals(("endpoints", short_name), endpoints[short_name], quotas):
            line = checked_yaml.line_of(tree.root / file, *keys)
            yield f"{file}:{line}: {'.'.join(keys)}: {text}"


def _without_capacity(message: str, short_names: Mapping[str, str]) -> list[str]:
    """Return the short names of the endpoints without capacity, from an error message.

    `short_names` maps names of endpoints and of stacks to short names. The error has such a name on
    the line with the error code or on an earlier line, because the cdk CLI wraps its lines.
    """
    without_capacity, short_name_above = dict[str, None](), None
    for line in message.splitlines():
        for name, short_name in short_names.items():
            if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", line):
                short_name_above = short_name
        if ERROR_CODE in line and short_name_above:
            without_capacity[short_name_above] = None
    return list(without_capacity)


@dataclass(frozen=True)
class _RegionQuotas:
    """Quota name -> quota of the account in a region.

    If the quotas cannot be read, `error` is the reason, and every type is proposed.
    """

    region: str
    quotas: Mapping[str, AccountQuota]
    error: str = ""

    @classmethod
    def read(cls, session: boto3.Session) -> "_RegionQuotas":
        """Return the quotas in the session's region."""
        region, quotas = str(session.region_name), ServiceQuotas(client(session, "service-quotas"))
        try:
            return cls(region, quotas.of(SAGEMAKER))
        except (ClientError, BotoCoreError) as error:
            return cls(region, {}, failure_reason(error))

    def propose(self, types: Types, suitable: Types, *, use_pool: bool) -> str:
        """Return the problem and the line to write: a pool with more types, or another type."""
        problem = f"no capacity in {self.region} for {' or '.join(_names(types))}"
        usable = [candidate for candidate in suitable if self.error or self._quota(candidate)]
        if not usable:
            names = ", ".join(_names(suitable[:LISTED_TYPES]))
            fix = f"no quota for a suitable type: request a quota for one of {names}"
            return f"{problem}, and {fix if names else 'no other type fits: deploy again later'}"
        new_names = _names(usable[: ADDED_TYPES if use_pool else 1])
        line = f"instance_type: {new_names[0]}"
        if use_pool:
            pool = [*_names(types)[: pools.MAX_TYPES - len(new_names)], *new_names]
            line = f"instance_types: [{', '.join(pool)}]"
        descriptions = ", ".join(
            self._description(types[0], candidate) for candidate in usable[:LISTED_TYPES]
        )
        error = f"; their quotas are unknown: {self.error}" if self.error else ""
        return f"{problem}: write {line}. Suitable types: {descriptions}{error}"

    def _description(self, current: InstanceType, candidate: InstanceType) -> str:
        archive = "the same archive" if _share_archive(current, candidate) else "another archive"
        return f"{candidate.name} ({', '.join([archive, *map(str, self._quota(candidate))])})"

    def _quota(self, instance_type: InstanceType) -> list[AccountQuota]:
        """Return a list with the quota of a type, empty if the quota allows no instance."""
        quota = self.quotas.get(instances_quota(instance_type.name))
        return [quota] if quota and quota.value >= 1 else []


def _proposals(
    keys: tuple[str, ...], endpoint: Endpoint, quotas: _RegionQuotas
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield key path and message for the endpoint, or for each variant if their types differ."""
    variants = {
        name: [platform_facts.instance_type(pool["instance_type"]) for pool in variant["pools"]]
        for name, variant in endpoint["variants"].items()
    }
    types, *types_of_others = variants.values()
    if all(other_types == types for other_types in types_of_others):
        has_pools = len(types) > 1 or platform_facts.region(quotas.region).instance_pools
        use_pool = endpoint["hosting"] == "single-model" and has_pools
        yield keys, quotas.propose(types, _suitable_types(types, endpoint), use_pool=use_pool)
        return
    for name, types in variants.items():
        suitable = _suitable_types(types, endpoint)
        yield (*keys, "variants", name), quotas.propose(types, suitable, use_pool=False)


def _suitable_types(types: Types, endpoint: Endpoint) -> list[InstanceType]:
    """Return other types that can serve the models of an endpoint.

    They are sorted by similar size, then the same archive, then newer GPUs. They have the same
    number of GPUs, or of vCPUs without GPUs, because utilization metrics are sums over them. It is
    not checked that the models fit into the memory of another GPU.
    """
    current, pool = types[0], next(iter(endpoint["variants"].values()))["pools"][0]
    release = platform_facts.release(pool["target"].split("-")[1])  # as in cuda-25.09-sm86
    is_multi_model = endpoint["hosting"] == "multi-model"
    has_engines = any(endpoint["engines"].values())
    suitable = [
        candidate
        for candidate in platform_facts.instance_types()
        if candidate not in types
        and not any(_rule_violations([*types, candidate], release, is_multi_model=is_multi_model))
        and (
            not has_engines or _share_archive(current, candidate) or _runs_ampere_engines(candidate)
        )
        and (candidate.multi_model is Support.YES or not is_multi_model)
    ]
    suitable.sort(key=lambda candidate: _capability(candidate) or AMPERE, reverse=True)

    def dissimilarity(candidate: InstanceType) -> tuple[int, bool]:
        return abs(candidate.vcpus - current.vcpus), not _share_archive(current, candidate)

    return sorted(suitable, key=dissimilarity)


def _names(types: Types) -> list[str]:
    return [instance_type.name for instance_type in types]


def _rule_violations(types: Types, release: Release, *, is_multi_model: bool) -> Iterator[object]:
    yield from pools.check_same_processor(types)
    if not is_multi_model:  # a multi-model endpoint has one type
        yield from pools.check_same_storage(types)
        yield from pools.check_pool_inference_ami(types, release)
    yield from (pools.check_equal_gpu_counts if types[0].gpu else pools.check_equal_vcpu_counts)(
        types
    )
    yield from check_gpu_release(types[-1], release)


def _share_archive(first: InstanceType, second: InstanceType) -> bool:
    """Return whether two types load the same archive."""
    return _capability(first) == _capability(second)


def _runs_ampere_engines(instance_type: InstanceType) -> bool:
    """Return whether engines that were compiled on another kind of GPU run on a type."""
    gpu = instance_type.gpu
    return gpu is not None and gpu.compute_capability >= AMPERE


def _capability(instance_type: InstanceType) -> ComputeCapability | None:
    return instance_type.gpu.compute_capability if instance_type.gpu else None
