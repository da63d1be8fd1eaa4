"""Endpoints that are created through the API, without a stack."""

from typing import Any

import boto3

QUIET = {"SAGEMAKER_TRITON_LOG_VERBOSE": "false"}
"""The log setting of the app's stages; the default logs a dozen lines per request."""


def create_endpoint(endpoint: str, container: dict[str, Any], **members: Any) -> None:
    """Create an endpoint with a new configuration, and wait until it is in service."""
    sagemaker: Any = boto3.client("sagemaker")
    create_config(endpoint, container, **members)
    sagemaker.create_endpoint(EndpointName=endpoint, EndpointConfigName=endpoint)
    wait_in_service(endpoint)


def create_config(
    name: str, container: dict[str, Any], *, instances: int = 1, **members: Any
) -> None:
    """Create a model, and a configuration with one variant and additional `members`."""
    sagemaker: Any = boto3.client("sagemaker")
    sagemaker.create_model(ModelName=name, PrimaryContainer={"Image": "triton", **container})
    sagemaker.create_endpoint_config(
        EndpointConfigName=name,
        ProductionVariants=[
            {
                "VariantName": "AllTraffic",
                "ModelName": name,
                "InstanceType": "ml.m5.xlarge",
                "InitialInstanceCount": instances,
            }
        ],
        **members,
    )


def wait_in_service(endpoint: str) -> None:
    """Wait until an endpoint is in service."""
    boto3.client("sagemaker").get_waiter("endpoint_in_service").wait(
        EndpointName=endpoint, WaiterConfig={"Delay": 1, "MaxAttempts": 600}
    )


def multi_model(prefix: str) -> dict[str, Any]:
    """Return the container of many models below an S3 prefix."""
    return {
        "Mode": "MultiModel",
        "ModelDataUrl": prefix,
        "Environment": {**QUIET, "SAGEMAKER_TRITON_PING_MODE": "live"},
    }


def single_model(archive: str, *, default_model: str) -> dict[str, Any]:
    """Return the container of one archive in S3."""
    return {
        "Mode": "SingleModel",
        "ModelDataUrl": archive,
        "Environment": {**QUIET, "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": default_model},
    }


def put_rollback_alarm(name: str, *, endpoint: str, config: str) -> None:
    """Create an alarm on the model errors of a configuration."""
    cloudwatch: Any = boto3.client("cloudwatch")
    dimensions = {
        "EndpointName": endpoint,
        "VariantName": "AllTraffic",
        "EndpointConfigName": config,
    }
    cloudwatch.put_metric_alarm(
        AlarmName=name,
        Namespace="AWS/SageMaker",
        MetricName="InvocationModelErrors",
        Dimensions=[{"Name": name, "Value": value} for name, value in dimensions.items()],
        Statistic="Average",
        Period=60,
        EvaluationPeriods=3,
        DatapointsToAlarm=2,
        Threshold=0.2,
        ComparisonOperator="GreaterThanThreshold",
        TreatMissingData="notBreaching",
    )
