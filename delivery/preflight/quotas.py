"""Compare the account's quotas with the instances of a stage."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from delivery.aws import endpoint_description
from delivery.preflight.account import Account, CheckFinding, ok, refused, unknown

ALL_INSTANCES = "Number of instances across active endpoints"
"""The quota on the instances of all endpoints, named as in CreateEndpoint's errors
(https://github.com/aws/sagemaker-python-sdk/issues/908 has the error for one type)."""
PAGE_SIZE = 100
"""The maximum page size of the lists of quotas (API reference)."""


def instances_quota(instance_type: str) -> str:
    """Return the name of an instance type's quota, as in CreateEndpoint's errors.

    Source: awsdocs/amazon-sagemaker-developer-guide#70, aws/amazon-sagemaker-examples#307.
    """
    return f"{instance_type} for endpoint usage"


@dataclass(frozen=True)
class AccountQuota:
    """A quota; `applied` is False if the value is AWS's default, not the account's own."""

    code: str
    value: float
    applied: bool

    def __str__(self) -> str:
        return f"quota {self.value:g}{'' if self.applied else ', AWS default'}"


def check_instances(account: Account) -> Iterator[CheckFinding]:
    """Compare the quotas on endpoint instances with those that this deploy starts.

    Refused is what the stage's new endpoints need, without other endpoints of the account. The
    instances of an update and of scaling are only named: a SageMaker that refuses them
    (ResourceLimitExceeded) changes nothing. All instances of a variant count for each of its types.
    No source documents a quota on the number of endpoints. An amount above AWS's default is
    unknown, not refused: it is undocumented whether the default limits an account without an
    applied value.
    """
    started, maximum = Counter[str](), Counter[str]()
    for endpoint in (planned.settings for planned in account.plan.endpoints.values()):
        is_new = endpoint_description(account.client("sagemaker"), endpoint.name) is None
        for variant in endpoint.variants.values():
            for quota in (*map(instances_quota, variant.instance_types), ALL_INSTANCES):
                maximum[quota] += max(variant.instances.maximum, 2 * variant.initial_count)
                started[quota] += variant.initial_count if is_new else 0
    quotas = _quotas(account.client("service-quotas"))
    for subject in sorted(started):
        message = f"this deploy starts {started[subject]}"
        message += f", updates and scaling up to {maximum[subject]} in all"
        limit = quotas.get(subject)
        if limit is None:
            yield unknown(subject, f"Service Quotas has no such quota in this region; {message}")
            continue
        request = "aws service-quotas request-service-quota-increase --service-code sagemaker "
        request += f"--quota-code {limit.code} --desired-value {maximum[subject]}"
        if started[subject] > limit.value:
            verdict = refused if limit.applied else unknown
            yield verdict(subject, f"{limit}; {message}", request)
        else:
            yield ok(
                subject, f"{limit}; {message}", request if maximum[subject] > limit.value else ""
            )


def _quotas(service_quotas: Any) -> dict[str, AccountQuota]:
    """Return name -> quota of SageMaker.

    "If the applied quota value is not available for a quota, the quota is not retrieved" (API
    reference of ListServiceQuotas): such a quota has AWS's default value.
    """
    operations = {"list_aws_default_service_quotas": False, "list_service_quotas": True}
    return {
        quota["QuotaName"]: AccountQuota(quota["QuotaCode"], quota["Value"], applied)
        for operation, applied in operations.items()
        for page in service_quotas.get_paginator(operation).paginate(
            ServiceCode="sagemaker", PaginationConfig={"PageSize": PAGE_SIZE}
        )
        for quota in page["Quotas"]
    }
