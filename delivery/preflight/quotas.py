"""Compare the account's quotas with the instances of a stage."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from delivery.aws import DENIED, failure_reason
from delivery.preflight.account import Account, CheckFinding, ok, refused, unknown
from plan.deployed import endpoint_description

ALL_INSTANCES = "Number of instances across active endpoints"
"""The quota on the instances of all endpoints, named as in CreateEndpoint's errors
(https://github.com/aws/sagemaker-python-sdk/issues/908 has the error for one type)."""
STATUSES_WITHOUT_INSTANCES = ("Failed", "OutOfService", "Deleting")
"""Statuses of endpoints without instances; it is undocumented whether they count for a quota."""
PAGE_SIZE = 100
"""The maximum page size of ListEndpoints and of the lists of quotas (API references)."""


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

    Refused is what new endpoints need. The instances of an update and of scaling are only named: a
    SageMaker that refuses them (ResourceLimitExceeded) changes nothing. All instances of a variant
    count for each of its types. No source documents a quota on the number of endpoints. An amount
    above AWS's default is unknown, not refused: it is undocumented whether the default limits an
    account without an applied value.
    """
    errors: dict[str, str] = {}
    running_by_endpoint = dict(_running_instances(account.client("sagemaker"), errors))
    running, started, maximum = Counter[str](), Counter[str](), Counter[str]()
    for counts in running_by_endpoint.values():
        running.update(counts)
    maximum.update(running)
    for endpoint in (planned.settings for planned in account.plan.endpoints.values()):
        own, needed = running_by_endpoint.get(endpoint.name), Counter[str]()
        for variant in endpoint.variants.values():
            for quota in (*map(instances_quota, variant.instance_types), ALL_INSTANCES):
                needed[quota] += max(variant.instances.maximum, 2 * variant.initial_count)
                started[quota] += 0 if own else variant.initial_count
        for quota, count in needed.items():
            own_count = own[quota] if own else 0
            maximum[quota] += max(count, 2 * own_count) - own_count
    quotas = _quotas(account.client("service-quotas"))
    for subject in sorted(started):
        amount = running[subject] + started[subject] if started[subject] else 0
        message = f"{running[subject]} run, this deploy starts {started[subject]}"
        message += f", updates and scaling up to {maximum[subject]} in all"
        limit = quotas.get(subject)
        if limit is None:
            yield unknown(subject, f"Service Quotas has no such quota in this region; {message}")
            continue
        request = "aws service-quotas request-service-quota-increase --service-code sagemaker "
        request += f"--quota-code {limit.code} --desired-value {maximum[subject]}"
        if amount > limit.value:
            verdict = refused if limit.applied else unknown
            yield verdict(subject, f"{limit}; {message}", request)
        else:
            yield ok(
                subject, f"{limit}; {message}", request if maximum[subject] > limit.value else ""
            )
    for name, error in errors.items():
        yield unknown(name, f"{error}: its instances are not counted")


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


def _running_instances(
    sagemaker: Any, errors: dict[str, str]
) -> Iterator[tuple[str, Counter[str]]]:
    """Yield the name of each endpoint of the account, and its instances by quota.

    If AWS denies access or the configuration was deleted, the reason is added to `errors`.
    """
    pages = sagemaker.get_paginator("list_endpoints")
    for page in pages.paginate(PaginationConfig={"PageSize": PAGE_SIZE}):
        for name in (summary["EndpointName"] for summary in page["Endpoints"]):
            instances = Counter[str]()
            try:
                if description := endpoint_description(sagemaker, name):
                    instances = _instances(sagemaker, description)
            except ClientError as error:
                if error.response["Error"]["Code"] not in (*DENIED, "ValidationException"):
                    raise
                errors[name] = failure_reason(error)
            quotas = {instances_quota(kind): count for kind, count in instances.items()}
            yield name, Counter({**quotas, ALL_INSTANCES: instances.total()})


def _instances(sagemaker: Any, description: Any) -> Counter[str]:
    """Return the instances of an endpoint. Raise `ClientError` if its configuration was deleted.

    While a variant scales, the count is the larger of the current and the desired count.
    """
    instances = Counter[str]()
    if description["EndpointStatus"] in STATUSES_WITHOUT_INSTANCES:
        return instances
    config = sagemaker.describe_endpoint_config(
        EndpointConfigName=description["EndpointConfigName"]
    )
    types = {
        variant["VariantName"]: variant.get("InstanceType")
        for variant in config["ProductionVariants"]
    }
    for variant in description.get("ProductionVariants", ()):
        for pool in variant.get("InstancePools", ()):
            instances[pool["InstanceType"]] += pool["CurrentInstanceCount"]
        if instance_type := types.get(variant["VariantName"]):  # a serverless variant has none
            current, desired = variant.get("CurrentInstanceCount", 0), "DesiredInstanceCount"
            instances[instance_type] += max(current, variant.get(desired, 0))
    return instances
