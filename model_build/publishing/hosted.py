"""The archive prefixes of a deployed endpoint, read from SageMaker."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from botocore.exceptions import ClientError

from model_build.errors import BuildError
from model_build.target import BuildTarget

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_sagemaker.type_defs import DescribeEndpointOutputTypeDef


_SERVING = ("InService", "RollingBack", "SystemUpdating", "Updating")
"""DescribeEndpoint's reference: scaling sets RollingBack and Updating too; an update to another
configuration has a PendingDeploymentSummary beside them. Maintenance, SystemUpdating, changes
nothing that customers set."""


PUBLISHED = "published/"
"""Where publishers write, below each prefix: builds alone write what a deploy serves.

A TargetModel is a path below ModelDataUrl (SageMaker developer guide, "Invoke a Multi-Model
Endpoint").
"""


class ObjectPlace(TypedDict):
    """The bucket and the key of an object."""

    bucket: str
    key: str


@dataclass(frozen=True)
class ArchivePrefix:
    """A prefix that a multi-model endpoint loads archives from, and their target."""

    bucket: str
    prefix: str
    target: BuildTarget

    def place(self, archive: str) -> ObjectPlace:
        """Return bucket and key of an archive below the prefix."""
        return {"bucket": self.bucket, "key": self.prefix + archive}


def archive_prefixes(
    sagemaker: "SageMakerClient", cloudformation: "CloudFormationClient", endpoint_name: str
) -> list[ArchivePrefix]:
    """Return the prefix of every variant of a multi-model endpoint, each once.

    Raises `BuildError` when there is no such endpoint, it has another hosting mode, or it is being
    updated: then what the catalog names must be where it serves from and where it will, and the
    update has looked at the catalog already. An update begins and ends with the stack's, which has
    the name of a multi-model endpoint; an endpoint may have none.
    """
    try:
        endpoint = sagemaker.describe_endpoint(EndpointName=endpoint_name)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationException":
            raise
        raise BuildError(
            f"no endpoint {endpoint_name}: deploy it, or write another STAGE and ENDPOINT"
        ) from None
    config = sagemaker.describe_endpoint_config(EndpointConfigName=endpoint["EndpointConfigName"])
    prefixes = {}
    for variant in config["ProductionVariants"]:
        model = variant.get("ModelName")  # none where it hosts inference components
        container = sagemaker.describe_model(ModelName=model)["PrimaryContainer"] if model else {}
        if container.get("Mode") != "MultiModel":
            raise BuildError(
                f"{endpoint_name} is not a multi-model endpoint: its stack names each archive, and "
                "another version takes a deploy. Commit the model and deliver the stage, or roll "
                "the stage back: tritonsm deliver, tritonsm rollback-stage"
            )
        prefix = _parse(container["ModelDataUrl"])
        prefixes[prefix] = prefix
    _refuse_updates(endpoint, _stack_status(cloudformation, endpoint_name))
    return list(prefixes)


def _refuse_updates(endpoint: "DescribeEndpointOutputTypeDef", stack: str) -> None:
    name, status = endpoint["EndpointName"], endpoint["EndpointStatus"]
    if stack == "UPDATE_ROLLBACK_FAILED":
        raise BuildError(
            f"the stack {name} is {stack}: continuing the rollback may move the endpoint to a "
            "prefix without the current model. Continue it first, then run this again: aws "
            f"cloudformation continue-update-rollback --stack-name {name}"
        )
    if stack.endswith("_IN_PROGRESS"):
        raise BuildError(
            f"the stack {name} is {stack}: the catalog must not change meanwhile. Wait "
            "until it is at rest, and run this again: aws cloudformation describe-stacks "
            f"--stack-name {name} --query 'Stacks[].StackStatus'"
        )
    if status not in _SERVING or "PendingDeploymentSummary" in endpoint:
        raise BuildError(
            f"the endpoint {name} is {status}: the catalog must not change meanwhile. "
            "Wait until it is InService, and run this again: aws sagemaker wait "
            f"endpoint-in-service --endpoint-name {name}"
        )


def _stack_status(cloudformation: "CloudFormationClient", name: str) -> str:
    """Return the status of a stack, nothing where there is none."""
    try:
        (stack,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
        return ""
    return stack["StackStatus"]


def _parse(url: str) -> ArchivePrefix:
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    written = prefix.rstrip("/").rpartition("/")[2]
    try:
        return ArchivePrefix(bucket, prefix, BuildTarget.parse(written))
    except ValueError as error:
        raise BuildError(f"{url} does not end in the target of its archives: {error}") from None
