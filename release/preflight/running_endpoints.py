"""The endpoints in an account, and their instances."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from release.preflight.answers import DENIED, why

if TYPE_CHECKING:
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_sagemaker.type_defs import DescribeEndpointOutputTypeDef

NO_INSTANCES = ("Failed", "OutOfService", "Deleting")
"""Statuses of endpoints without instances; no source says whether they count for a quota."""
PAGE = 100
"""The maximum page size of ListEndpoints; its default is 10 (API reference)."""


@dataclass(frozen=True)
class RunningEndpoint:
    """An endpoint; `variants` is name -> instance type -> count, without serverless variants.

    For a variant that is scaling, the larger count is used. `uncounted` is the reason if the
    instances are unknown, else empty.
    """

    name: str
    variants: dict[str, dict[str, int]]
    uncounted: str = ""


def running_endpoints(sagemaker: Any) -> dict[str, RunningEndpoint]:
    """Return every endpoint of the account by name, without those deleted in the meantime."""
    pages = sagemaker.get_paginator("list_endpoints").paginate(PaginationConfig={"PageSize": PAGE})
    endpoints = {}
    for name in [summary["EndpointName"] for page in pages for summary in page["Endpoints"]]:
        try:
            if description := described_endpoint(sagemaker, name):
                endpoints[name] = RunningEndpoint(name, _variants(sagemaker, description))
        except ClientError as error:
            if error.response["Error"]["Code"] not in (*DENIED, "ValidationException"):
                raise
            endpoints[name] = RunningEndpoint(name, {}, uncounted=why(error))
    return endpoints


def described_endpoint(
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
    """Return the variants of an endpoint. Raise `ClientError` if its configuration is gone."""
    if description["EndpointStatus"] in NO_INSTANCES:
        return {}
    config = sagemaker.describe_endpoint_config(
        EndpointConfigName=description["EndpointConfigName"]
    )
    types = {each["VariantName"]: each.get("InstanceType") for each in config["ProductionVariants"]}
    variants = {}
    for variant in description.get("ProductionVariants", ()):
        name, pools = variant["VariantName"], variant.get("InstancePools", ())
        counts = {pool["InstanceType"]: pool["CurrentInstanceCount"] for pool in pools}
        if instance_type := types.get(name):
            present = variant.get("CurrentInstanceCount", 0), variant.get("DesiredInstanceCount", 0)
            counts = {instance_type: max(present)}
        if counts:
            variants[name] = counts
    return variants
