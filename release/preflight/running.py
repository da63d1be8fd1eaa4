"""The endpoints that an account has, and the instances that they hold."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from release.preflight.answers import DENIED, why

NO_INSTANCES = ("Failed", "OutOfService", "Deleting")
"""EndpointStatus of those whose instances are gone or going; which hold a quota has no source."""
PAGE = 100
"""The most that a page of ListEndpoints has; its default is 10 (API reference)."""


@dataclass(frozen=True)
class RunningEndpoint:
    """One endpoint. `variants` is name -> (instance type, instances); serverless ones are left out.

    Of a variant that is being scaled, the larger number counts. `lost`: why nobody can say which
    instances it has, empty where they are known.
    """

    name: str
    variants: dict[str, tuple[str, int]]
    lost: str = ""


def running_endpoints(sagemaker: Any) -> dict[str, RunningEndpoint]:
    """Return every endpoint of the account, by its name."""
    pages = sagemaker.get_paginator("list_endpoints").paginate(PaginationConfig={"PageSize": PAGE})
    names = [it["EndpointName"] for page in pages for it in page["Endpoints"]]
    found = (_known(sagemaker, name) for name in names)
    return {it.name: it for it in found if it is not None}


def described(sagemaker: Any, name: str) -> Any:
    """Return what SageMaker says of an endpoint, None where there is none."""
    return _found(sagemaker.describe_endpoint, EndpointName=name)


def _known(sagemaker: Any, name: str) -> RunningEndpoint | None:
    """Return an endpoint, lost where it may not be asked; None where it went meanwhile."""
    try:
        return _asked(sagemaker, name)
    except ClientError as error:
        if error.response["Error"]["Code"] not in DENIED:
            raise
        return RunningEndpoint(name, {}, lost=why(error))


def _asked(sagemaker: Any, name: str) -> RunningEndpoint | None:
    endpoint = described(sagemaker, name)
    if endpoint is None:
        return None
    if endpoint["EndpointStatus"] in NO_INSTANCES:
        return RunningEndpoint(name, {})
    config = _found(
        sagemaker.describe_endpoint_config, EndpointConfigName=endpoint["EndpointConfigName"]
    )
    if config is None:
        return RunningEndpoint(name, {}, lost="its configuration was deleted")
    types = {
        it["VariantName"]: it["InstanceType"]
        for it in config["ProductionVariants"]
        if "InstanceType" in it
    }
    return RunningEndpoint(
        name,
        {
            it["VariantName"]: (types[it["VariantName"]], _instances(it))
            for it in endpoint.get("ProductionVariants", ())
            if it["VariantName"] in types
        },
    )


def _found(describe: Callable[..., Any], **named: str) -> Any:
    """Return a description, None where SageMaker has nothing of that name."""
    try:
        return describe(**named)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationException":
            raise
        return None


def _instances(variant: Any) -> int:
    counts = (variant.get(f"{when}InstanceCount", 0) for when in ("Current", "Desired"))
    return max(map(int, counts))
