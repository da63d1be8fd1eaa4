"""The archive prefixes of a deployed endpoint, read from SageMaker."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from model_build.errors import BuildError
from model_build.target import BuildTarget
from plan.deployed import endpoint_description, stack_description

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_sagemaker.type_defs import DescribeEndpointOutputTypeDef


_SERVING_STATUSES = ("InService", "RollingBack", "SystemUpdating", "Updating")
"""Statuses without an update of the configuration. Scaling also sets RollingBack and Updating; an
update to another configuration has a PendingDeploymentSummary. SystemUpdating is maintenance, which
does not change the configuration (DescribeEndpoint's reference)."""


@dataclass(frozen=True)
class ArchivePrefix:
    """An S3 prefix of a multi-model endpoint's archives, and their build target.

    `own_image`: an image by its digest serves them, whose backends are in the stage's file only.
    """

    bucket: str
    prefix: str
    target: BuildTarget
    own_image: bool = False


def archive_prefixes(
    sagemaker: "SageMakerClient", cloudformation: "CloudFormationClient", endpoint_name: str
) -> list[ArchivePrefix]:
    """Return the distinct prefixes of the variants of a multi-model endpoint.

    Raise `BuildError` if the endpoint does not exist, has another hosting mode, or is being
    updated. During an update the catalog must not change: the update has checked that the current
    archives exist below the old and the new prefix, and would not check another archive. If there
    is a stack with the endpoint's name, its update includes the update of the endpoint.
    """
    endpoint = endpoint_description(sagemaker, endpoint_name)
    if endpoint is None:
        raise BuildError(
            f"no endpoint {endpoint_name}: deploy it, or write another STAGE and ENDPOINT"
        )
    config = sagemaker.describe_endpoint_config(EndpointConfigName=endpoint["EndpointConfigName"])
    prefixes = {}
    for variant in config["ProductionVariants"]:
        model = variant.get("ModelName")  # absent on endpoints with inference components
        container = sagemaker.describe_model(ModelName=model)["PrimaryContainer"] if model else {}
        if container.get("Mode") != "MultiModel":
            raise BuildError(
                f"{endpoint_name} is not a multi-model endpoint: another version of a model needs "
                "a deploy. Commit the model and deliver the stage, or roll the stage back: "
                "tritonsm deliver, tritonsm rollback-stage"
            )
        prefix = _parse_prefix(container["ModelDataUrl"], own_image="@" in container["Image"])
        prefixes[prefix] = prefix
    stack = stack_description(cloudformation, endpoint_name)
    _check_not_updating(endpoint, stack["StackStatus"] if stack else "")
    return list(prefixes)


def _check_not_updating(endpoint: "DescribeEndpointOutputTypeDef", stack_status: str) -> None:
    name, status = endpoint["EndpointName"], endpoint["EndpointStatus"]
    if stack_status == "UPDATE_ROLLBACK_FAILED":
        raise BuildError(
            f"the stack {name} is {stack_status}: continuing the rollback may move the endpoint to "
            "a prefix without the current model. Continue it first, then run this again: aws "
            f"cloudformation continue-update-rollback --stack-name {name}"
        )
    if stack_status.endswith("_IN_PROGRESS"):
        raise BuildError(
            f"the stack {name} is {stack_status}: the catalog must not change meanwhile. Wait "
            "until it has finished, and run this again: aws cloudformation describe-stacks "
            f"--stack-name {name} --query 'Stacks[].StackStatus'"
        )
    if status not in _SERVING_STATUSES or "PendingDeploymentSummary" in endpoint:
        raise BuildError(
            f"the endpoint {name} is {status}: the catalog must not change meanwhile. "
            "Wait until it is InService, and run this again: aws sagemaker wait "
            f"endpoint-in-service --endpoint-name {name}"
        )


def _parse_prefix(url: str, *, own_image: bool) -> ArchivePrefix:
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    target = prefix.rstrip("/").rpartition("/")[2]
    try:
        return ArchivePrefix(bucket, prefix, BuildTarget.parse(target), own_image)
    except ValueError as error:
        raise BuildError(f"{url} does not end in the target of its archives: {error}") from None
