"""Checks of the account's quotas of endpoint instances."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.pools import pools
from local_sagemaker.quotas import ALL_INSTANCES, instance_quota_name
from local_sagemaker.sagemaker.endpoint import Endpoint
from local_sagemaker.sagemaker.resources import Record

QuotaValue = Callable[[str], int]
"""A function that returns the value of a quota by name."""


def check_quotas(
    endpoints: Iterable[Endpoint], config: Record, added: Mapping[str, int], quota_value: QuotaValue
) -> None:
    """Raise `ApiError` if more instances, `added` by variant of a configuration, exceed a quota.

    Source of CreateEndpoint's message: aws-samples/sagemaker-custom-project-templates#51. For
    UpdateEndpoint and UpdateEndpointWeightsAndCapacities the API reference lists
    ResourceLimitExceeded; the same message has no source. All types of instance pools are checked
    (Deepgram's page on SageMaker).
    """
    types = _instance_types(config)
    requested: Counter[str] = Counter()
    for variant, count in added.items():
        for instance_type in types[variant]:
            requested[instance_quota_name(instance_type)] += max(0, count)
        requested[ALL_INSTANCES] += max(0, count)
    used = _used_instances(endpoints)
    for name, count in requested.items():
        if count and used[name] + count > quota_value(name):
            raise ApiError(
                "ResourceLimitExceeded",
                f"The account-level service limit '{name}' is {quota_value(name)} Instances, with "
                f"current utilization of {used[name]} Instances and a request delta of {count} "
                "Instances. Please contact AWS support to request an increase for this limit.",
            )


def _used_instances(endpoints: Iterable[Endpoint]) -> Counter[str]:
    """Return the number of instances of all endpoints by quota.

    During an update, the old and the new instances count. A failed endpoint has no instances.
    """
    used: Counter[str] = Counter()
    for endpoint in endpoints:
        if endpoint.status == "Failed":
            continue
        if endpoint.status != "Creating":
            _add_instances(used, endpoint.plan.config, endpoint.variants)
        if "PendingDeploymentSummary" in endpoint.description:
            _add_instances(used, endpoint.new_plan.config, endpoint.pending_variants)
    return used


def _add_instances(used: Counter[str], config: Record, variants: Iterable[Record]) -> None:
    types = _instance_types(config)
    for variant in variants:
        count = max(variant["CurrentInstanceCount"], variant["DesiredInstanceCount"])
        preferred, *_ = types[variant["VariantName"]]  # of pools, whichever type was launched
        used[instance_quota_name(preferred)] += count
        used[ALL_INSTANCES] += count


def _instance_types(config: Record) -> dict[str, list[str]]:
    return {
        variant["VariantName"]: [pool.instance_type for pool in pools(variant)]
        for variant in config["ProductionVariants"]
    }
