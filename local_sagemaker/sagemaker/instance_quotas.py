"""The account's quotas on instances of endpoints, which CreateEndpoint and updates are held to."""

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
    """Raise `ApiError` where `added` instances, by variant of a configuration, are too many.

    The text: aws-samples/sagemaker-custom-project-templates#51. It is CreateEndpoint's; that
    updates are refused in the same words has no source, that they can be has: UpdateEndpoint and
    UpdateEndpointWeightsAndCapacities list ResourceLimitExceeded in the API reference. Every type
    of instance pools is checked (Deepgram's page on SageMaker).
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
    """Return the instances that all endpoints hold, by quota.

    Those of an update in progress count as well as those that it replaces, all that are to come. A
    failed endpoint has none.
    """
    used: Counter[str] = Counter()
    for endpoint in endpoints:
        if endpoint.status == "Failed":
            continue
        if endpoint.status != "Creating":
            _count(used, endpoint.plan.config, endpoint.variants)
        if "PendingDeploymentSummary" in endpoint.description:
            _count(used, endpoint.coming.config, endpoint.pending)
    return used


def _count(used: Counter[str], config: Record, variants: Iterable[Record]) -> None:
    types = _types(config)
    for variant in variants:
        count = max(variant["CurrentInstanceCount"], variant["DesiredInstanceCount"])
        preferred, *_ = types[variant["VariantName"]]  # of pools: wherever they really run
        used[instances_name(preferred)] += count
        used[ALL_INSTANCES] += count


def _types(config: Record) -> dict[str, list[str]]:
    return {
        variant["VariantName"]: [pool.instance_type for pool in pools(variant)]
        for variant in config["ProductionVariants"]
    }
