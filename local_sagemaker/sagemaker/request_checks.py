"""Checks of requests for models, endpoint configurations, weights and capacities.

They supplement the checks of botocore's model. Rules without a source are marked; AWS's messages
for these errors were not found.
"""

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from local_sagemaker.errors import invalid
from local_sagemaker.hosting.archives import S3Prefix
from local_sagemaker.hosting.capacity import Resources
from local_sagemaker.hosting.pools import pools

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Record = dict[str, Any]

MAX_ENVIRONMENT_BYTES = 32 * 1024
"""Maximum total size of keys and values; source: ContainerDefinition's API reference."""

METRIC_PUBLISH_SECONDS = 60


def check_model(request: Record, s3: "S3Client", *, is_assumable: Callable[[str], bool]) -> None:
    """Raise `ApiError` if CreateModel rejects the request.

    `is_assumable` returns whether SageMaker may assume the role with an ARN.
    """
    container = request.get("PrimaryContainer")
    if container is None:
        raise invalid("A model needs a PrimaryContainer.")
    _check_container(container, s3)
    role = request.get("ExecutionRoleArn")
    if role is not None and not is_assumable(role):
        # Source of the message: philschmid/llm-sagemaker-sample#2.
        raise invalid(
            f"Could not access model data at {container['ModelDataUrl']}. Please ensure that "
            f'the role "{role}" exists and that its trust relationship policy allows the action '
            '"sts:AssumeRole" for the service principal "sagemaker.amazonaws.com".'
        )


def check_endpoint_config(request: Record) -> None:
    """Raise `ApiError` if CreateEndpointConfig rejects the request."""
    frequency = request.get("MetricsConfig", {}).get("MetricPublishFrequencyInSeconds")
    if frequency not in (None, METRIC_PUBLISH_SECONDS):
        raise invalid(
            f"The local SageMaker publishes metrics every {METRIC_PUBLISH_SECONDS} s: leave out "
            "MetricPublishFrequencyInSeconds."
        )
    variants = request["ProductionVariants"]
    without_model = [variant["VariantName"] for variant in variants if "ModelName" not in variant]
    if without_model:
        _check_component_endpoint(request, without_model)
    for variant in variants:
        name = variant["VariantName"]
        if "ManagedInstanceScaling" in variant and not without_model:
            # Source of the message: hashicorp/terraform-provider-aws#45926.
            raise invalid(
                "ManagedInstanceScaling is only supported for inference component endpoints."
            )
        if "InitialInstanceCount" not in variant:  # no source
            raise invalid(f"Variant {name} needs an InitialInstanceCount.")
        if ("InstanceType" in variant) == ("InstancePools" in variant):
            # Source for both: mikegc-aws/strands-decider-triton, README; for neither: no source.
            raise invalid(f"Variant {name} needs either an InstanceType or InstancePools.")
        for pool in pools(variant):
            if pool.instance_type.startswith("ml.inf1."):
                # Deployment guardrails do not support it: developer guide,
                # deployment-guardrails-exclusions.
                raise invalid(
                    f"The local SageMaker does not support the instance type {pool.instance_type}."
                )
    names = [variant["VariantName"] for variant in variants]
    if len(set(names)) < len(names):  # no source
        raise invalid(f"Variant names must be unique: {', '.join(names)}.")


def _check_component_endpoint(request: Record, without_model: list[str]) -> None:
    """Raise `ApiError` for an invalid configuration of an endpoint of inference components."""
    (variant, *others) = request["ProductionVariants"]
    if others:
        raise invalid(
            "The local SageMaker supports one variant per endpoint of inference components: give "
            f"{', '.join(without_model)} a ModelName, or leave out the other variants."
        )
    if "ExecutionRoleArn" not in request:
        # Source of the error: stdapi-ai/stdapi.ai#43.
        raise invalid("ExecutionRoleArn is required for endpoints of inference components.")
    if Resources.for_type(variant.get("InstanceType", "")) is None:
        raise invalid(
            "The local SageMaker supports inference components only on instances of one type "
            f"with known resources: give variant {variant['VariantName']} an InstanceType such as "
            "ml.g5.xlarge."
        )
    scaling = variant.get("ManagedInstanceScaling", {})
    if scaling.get("Status") == "ENABLED":
        minimum, maximum = scaling.get("MinInstanceCount"), scaling.get("MaxInstanceCount")
        initial = variant["InitialInstanceCount"]
        if minimum is None or maximum is None or not minimum <= initial <= maximum:
            raise invalid(  # no source
                "ManagedInstanceScaling needs a MinInstanceCount of at most InitialInstanceCount, "
                "and a MaxInstanceCount of at least InitialInstanceCount."
            )


def check_pools(request: Record, models: Mapping[str, Record]) -> None:
    """Raise `ApiError` for instance pools of multi-model containers (undocumented by AWS)."""
    for variant in request["ProductionVariants"]:
        names = [pool.model_name for pool in pools(variant) if pool.model_name]
        modes = {models[name]["PrimaryContainer"]["Mode"] for name in names}
        if "InstancePools" in variant and "MultiModel" in modes:
            raise invalid(
                "The local SageMaker does not support InstancePools for multi-model containers: "
                f"give variant {variant['VariantName']} an InstanceType."
            )


def check_weights_and_capacities(requested: list[Record], variant_names: Collection[str]) -> None:
    """Raise `ApiError` if UpdateEndpointWeightsAndCapacities rejects the request.

    `variant_names` are the variants of the endpoint.
    """
    for variant in requested:
        name = variant["VariantName"]
        if name not in variant_names:  # no source
            raise invalid(f"Could not find variant {name}.")
        if variant.get("DesiredInstanceCount") == 0:
            # Only variants with inference components scale to zero (developer guide,
            # endpoint-auto-scaling-zero-instances).
            raise invalid(f"Variant {name} needs a DesiredInstanceCount of at least 1.")
    scaled_variants = [
        variant["VariantName"] for variant in requested if "DesiredInstanceCount" in variant
    ]
    if len(scaled_variants) > 1:
        # "Updates variant weight of one or more variants associated with an existing endpoint, or
        # capacity of one variant": the API reference of UpdateEndpointWeightsAndCapacities.
        raise invalid(
            "Specify a DesiredInstanceCount for only one variant per request, not for "
            f"{', '.join(scaled_variants)}."
        )


def _check_container(container: Record, s3: "S3Client") -> None:
    if "Image" not in container:  # no source
        raise invalid("A container needs an Image.")
    environment = container.get("Environment", {})
    if len("".join([*environment, *environment.values()]).encode()) > MAX_ENVIRONMENT_BYTES:
        raise invalid(f"Environment has more than {MAX_ENVIRONMENT_BYTES} bytes.")
    url = container.get("ModelDataUrl")
    if url is None:
        # No image is run, so that a model in an image is not available.
        raise invalid("The local SageMaker does not support models in images: set ModelDataUrl.")
    if not url.startswith("s3://"):
        raise invalid(
            f"The local SageMaker does not support https model data: use an s3:// URL, not {url}."
        )
    is_multi_model = container.get("Mode") == "MultiModel"
    if not _model_data_exists(S3Prefix.parse(url), s3, is_multi_model=is_multi_model):
        # Source: aws/amazon-sagemaker-examples#2264. No source for multi-model containers, where
        # the prefix may be empty, but the bucket must exist.
        raise invalid(f"Could not find model data at {url}.")


def _model_data_exists(data: S3Prefix, s3: "S3Client", *, is_multi_model: bool) -> bool:
    try:
        if is_multi_model:
            s3.head_bucket(Bucket=data.bucket)
        else:
            s3.head_object(Bucket=data.bucket, Key=data.key)
    except (BotoCoreError, ClientError):  # also invalid bucket names and keys
        return False
    return True
