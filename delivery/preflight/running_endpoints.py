"""The endpoints in an account, and their instances."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from delivery.preflight.failure_reasons import DENIED, failure_reason

if TYPE_CHECKING:
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_sagemaker.type_defs import DescribeEndpointOutputTypeDef

STATUSES_WITHOUT_INSTANCES = ("Failed", "OutOfService", "Deleting")
"""Statuses of endpoints without instances; it is undocumented whether they count for a quota."""
PAGE_SIZE = 100
"""The maximum page size of ListEndpoints; its default is 10 (API reference)."""


@dataclass(frozen=True)
class RunningEndpoint:
    """An endpoint; `variants` is name -> instance type -> count, without serverless variants.

    While a variant scales, the count is the larger of the current and the desired count. If AWS
    denies access or the configuration was deleted, the variants are unknown and `error` is set.
    """

    name: str
    variants: dict[str, dict[str, int]]
    error: str = ""


def running_endpoints(sagemaker: Any) -> dict[str, RunningEndpoint]:
    """Return name -> endpoint for all endpoints of the account."""
    pages = sagemaker.get_paginator("list_endpoints").paginate(
        PaginationConfig={"PageSize": PAGE_SIZE}
    )
    endpoints = {}
    for name in [summary["EndpointName"] for page in pages for summary in page["Endpoints"]]:
        try:
            if description := endpoint_description(sagemaker, name):
                endpoints[name] = RunningEndpoint(name, _variants(sagemaker, description))
        except ClientError as error:
            if error.response["Error"]["Code"] not in (*DENIED, "ValidationException"):
                raise
            endpoints[name] = RunningEndpoint(name, {}, error=failure_reason(error))
    return endpoints


def endpoint_description(
    sagemaker: "SageMakerClient", name: str
) -> "DescribeEndpointOutputTypeDef | None":
    """Return SageMaker's description of an endpoint, None if it does not exist."""
    try:
        return sagemaker.describe_endpoint(EndpointName=name)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationException":
            raise
        return None


def _variants(sagemaker: Any, description: Any) -> dict[str, dict[str, int]]:
    """Return the variants of an endpoint. Raise `ClientError` if its configuration was deleted."""
    if description["EndpointStatus"] in STATUSES_WITHOUT_INSTANCES:
        return {}
    config = sagemaker.describe_endpoint_config(
        EndpointConfigName=description["EndpointConfigName"]
    )
    types = {
        variant["VariantName"]: variant.get("InstanceType")
        for variant in config["ProductionVariants"]
    }
    variants = {}
    for variant in description.get("ProductionVariants", ()):
        name, pools = variant["VariantName"], variant.get("InstancePools", ())
        counts = {pool["InstanceType"]: pool["CurrentInstanceCount"] for pool in pools}
        if instance_type := types.get(name):
            current = variant.get("CurrentInstanceCount", 0)
            counts = {instance_type: max(current, variant.get("DesiredInstanceCount", 0))}
        if counts:
            variants[name] = counts
    return variants
