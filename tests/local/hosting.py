"""An endpoint, made through the API as CloudFormation makes it, without a deploy."""

from typing import Any

import boto3


def host(endpoint: str, container: dict[str, Any]) -> None:
    """Make an endpoint of one instance, and return when it is in service."""
    sagemaker: Any = boto3.client("sagemaker")
    sagemaker.create_model(
        ModelName=endpoint,
        PrimaryContainer={"Image": "triton", **container},
    )
    sagemaker.create_endpoint_config(
        EndpointConfigName=endpoint,
        ProductionVariants=[
            {
                "VariantName": "AllTraffic",
                "ModelName": endpoint,
                "InstanceType": "ml.m5.xlarge",
                "InitialInstanceCount": 1,
            }
        ],
    )
    sagemaker.create_endpoint(EndpointName=endpoint, EndpointConfigName=endpoint)
    in_service(endpoint)


def in_service(endpoint: str) -> None:
    """Return when an endpoint is in service."""
    boto3.client("sagemaker").get_waiter("endpoint_in_service").wait(
        EndpointName=endpoint, WaiterConfig={"Delay": 1, "MaxAttempts": 600}
    )


def multi_model(prefix: str) -> dict[str, Any]:
    """Return the container of many models below an S3 prefix."""
    return {
        "Mode": "MultiModel",
        "ModelDataUrl": prefix,
        "Environment": {"SAGEMAKER_TRITON_PING_MODE": "live"},
    }


def single_model(archive: str, *, default_model: str) -> dict[str, Any]:
    """Return the container of one archive in S3."""
    return {
        "Mode": "SingleModel",
        "ModelDataUrl": archive,
        "Environment": {"SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": default_model},
    }
