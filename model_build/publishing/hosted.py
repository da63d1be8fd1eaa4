"""What a deployed endpoint hosts, read from SageMaker."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from model_build.errors import BuildError
from model_build.target import BuildTarget

if TYPE_CHECKING:
    from mypy_boto3_sagemaker import SageMakerClient


@dataclass(frozen=True)
class ArchivePrefix:
    """Where a multi-model endpoint finds archives, and what they are built for."""

    bucket: str
    prefix: str
    target: BuildTarget


def archive_prefixes(sagemaker: "SageMakerClient", endpoint_name: str) -> list[ArchivePrefix]:
    """Return the prefix of every variant of a multi-model endpoint, each once.

    Raises `BuildError` when there is no such endpoint, or it serves single models.
    """
    try:
        config = sagemaker.describe_endpoint(EndpointName=endpoint_name)["EndpointConfigName"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationException":
            raise
        raise BuildError(
            f"no endpoint {endpoint_name}: deploy it, or write another --stage and --endpoint"
        ) from None
    variants = sagemaker.describe_endpoint_config(EndpointConfigName=config)["ProductionVariants"]
    found = {}
    for variant in variants:
        container = sagemaker.describe_model(ModelName=variant["ModelName"])["PrimaryContainer"]
        if container.get("Mode") != "MultiModel":
            raise BuildError(
                f"{endpoint_name} is not a multi-model endpoint: its one archive changes with a "
                "deploy"
            )
        prefix = _parse(container["ModelDataUrl"])
        found[prefix] = prefix
    return list(found)


def _parse(url: str) -> ArchivePrefix:
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    written = prefix.rstrip("/").rpartition("/")[2]
    try:
        return ArchivePrefix(bucket, prefix, BuildTarget.parse(written))
    except ValueError as error:
        raise BuildError(
            f"{url} does not end in what its archives are built for: {error}"
        ) from None
