"""Enforcement of the account's quotas on endpoint instances."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.pools import pools
from local_sagemaker.quotas.account import ALL_INSTANCES, instances_name
from local_sagemaker.sagemaker.endpoint import Endpoint
from local_sagemaker.sagemaker.resources import Record

Limit = Callable[[str], int]
"""Quota name -> its value."""


def check_quotas(
    endpoints: Iterable[Endpoint], config: Record, added: Mapping[str, int], limit: Limit
) -> None:
    """Raise `ApiError` if `added` instances, by variant of a configuration, exceed a quota.

    Source of CreateEndpoint's message: aws-samples/sagemaker-custom-project-templates#51. For
    UpdateEndpoint and UpdateEndpointWeightsAndCapacities the API reference lists
    ResourceLimitExceeded; the same message has no source. All types of instance pools are checked
    (Deepgram's page on SageMaker).
    """
    types = _types(config)
    delta: Counter[str] = Counter()
    for variant, count in added.items():
        for instance_type in types[variant]:
            delta[instances_name(instance_type)] += max(0, count)
        delta[ALL_INSTANCES] += max(0, count)
    used = _used(endpoints)
    for name, more in delta.items():
        if more and used[name] + more > limit(name):
            raise ApiError(
                "ResourceLimitExceeded",
                f"The account-level service limit '{name}' is {limit(name)} Instances, with "
                f"current utilization of {used[name]} Instances and a request delta of {more} "
                "Instances. Please contact AWS support to request an increase for this limit.",
            )


def _used(endpoints: Iterable[Endpoint]) -> Counter[str]:
    """Return the instances of all endpoints by quota.

    During an update, old and new instances count. A failed endpoint has none.
    """
    used: Counter[str] = Counter()
    for endpoint in endpoints:
        if endpoint.status == "Failed":
            continue
        if endpoint.status != "Creating":
            _count(used, endpoint.plan.config, endpoint.variants)
        if "PendingDeploymentSummary" in endpoint.description:
            _count(used, endpoint.pending_plan.config, endpoint.pending)
    return used


def _count(used: Counter[str], config: Record, variants: Iterable[Record]) -> None:
    types = _types(config)
    for variant in variants:
        count = max(variant["CurrentInstanceCount"], variant["DesiredInstanceCount"])
        preferred, *_ = types[variant["VariantName"]]  # of pools: the actual type is not considered
        used[instances_name(preferred)] += count
        used[ALL_INSTANCES] += count


def _types(config: Record) -> dict[str, list[str]]:
    return {
        variant["VariantName"]: [pool.instance_type for pool in pools(variant)]
        for variant in config["ProductionVariants"]
    }
