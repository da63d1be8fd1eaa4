"""Checks of SageMaker's requests that need more than the request, or a calculation.

They supplement the checks of botocore's model and of documented.yaml. Rules without a source are
marked; AWS's messages for these errors were not found, except where a source is cited.
"""

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from local_sagemaker.errors import invalid
from local_sagemaker.hosting.archives import S3Prefix
from local_sagemaker.hosting.capacity import Resources
from local_sagemaker.hosting.pools import pools
from local_sagemaker.sagemaker.deployment import capacity_share

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Record = dict[str, Any]

MAX_ENVIRONMENT_BYTES = 32 * 1024
"""Maximum total size of keys and values; source: ContainerDefinition's API reference."""


def check_model(request: Record, s3: "S3Client", *, is_assumable: Callable[[str], bool]) -> None:
    """Raise `ApiError` if CreateModel rejects the request.

    `is_assumable` returns whether SageMaker may assume the role with an ARN.
    """
    container = request["PrimaryContainer"]
    environment, url = container.get("Environment", {}), container["ModelDataUrl"]
    if len("".join([*environment, *environment.values()]).encode()) > MAX_ENVIRONMENT_BYTES:
        raise invalid(f"Environment has more than {MAX_ENVIRONMENT_BYTES} bytes.")
    is_multi_model = container.get("Mode") == "MultiModel"
    if not _model_data_exists(S3Prefix.parse(url), s3, is_multi_model=is_multi_model):
        # Source: aws/amazon-sagemaker-examples#2264. No source for multi-model containers, where
        # the prefix may be empty, but the bucket must exist.
        raise invalid(f"Could not find model data at {url}.")
    role = request.get("ExecutionRoleArn")
    if role is not None and not is_assumable(role):
        # Source of the message: philschmid/llm-sagemaker-sample#2.
        raise invalid(
            f"Could not access model data at {url}. Please ensure that the role "
            f'"{role}" exists and that its trust relationship policy allows the action '
            '"sts:AssumeRole" for the service principal "sagemaker.amazonaws.com".'
        )


def check_endpoint_config(request: Record) -> None:
    """Raise `ApiError` for inference components on an instance type of unknown resources."""
    for variant in request["ProductionVariants"]:
        instance_type = variant.get("InstanceType", "")
        if "ModelName" not in variant and Resources.for_type(instance_type) is None:
            raise invalid(
                "The local SageMaker supports inference components only on instances of one type "
                f"with known resources: give variant {variant['VariantName']} an InstanceType such "
                "as ml.g5.xlarge."
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


def check_variants_exist(requested: list[Record], names: Collection[str]) -> None:
    """Raise `ApiError` if a requested variant is not one of an endpoint's."""
    for variant in requested:
        if variant["VariantName"] not in names:  # no source
            raise invalid(f"Could not find variant {variant['VariantName']}.")


def _model_data_exists(data: S3Prefix, s3: "S3Client", *, is_multi_model: bool) -> bool:
    try:
        if is_multi_model:
            s3.head_bucket(Bucket=data.bucket)
        else:
            s3.head_object(Bucket=data.bucket, Key=data.key)
    except (BotoCoreError, ClientError):  # also invalid bucket names and keys
        return False
    return True


MAX_PERCENT = 50
"""Maximum percentage of a variant's instances: "less than or equal to 50%" for a CanarySize,
"10-50%" for a LinearStepSize, "between 5% to 50%" for a MaximumBatchSize (API reference of
TrafficRoutingConfig and RollingUpdatePolicy)."""

_STEP_SIZES = {"CANARY": ("CanarySize", 0), "LINEAR": ("LinearStepSize", 10)}
"""Type of traffic routing -> its required member, and the minimum percentage."""


def check_deployment(config: Record, counts: Mapping[str, int]) -> None:
    """Raise `ApiError` if the configuration is inconsistent, or invalid for the instance counts."""
    blue_green, rolling = (
        config.get(name) for name in ("BlueGreenUpdatePolicy", "RollingUpdatePolicy")
    )
    if rolling is not None:
        if len(counts) > 1:
            # Source: developer guide, deployment-guardrails-exclusions.
            raise invalid(
                "A rolling deployment needs an endpoint with one variant, but this endpoint has "
                f"{', '.join(counts)}: use a BlueGreenUpdatePolicy."
            )
        _check_step_size("MaximumBatchSize", rolling, 5, counts)
    if blue_green is not None:
        routing = blue_green["TrafficRoutingConfiguration"]
        if routing["Type"] in _STEP_SIZES:
            member, minimum = _STEP_SIZES[routing["Type"]]
            _check_step_size(member, routing, minimum, counts)


def check_variant_names(config: Record, old: Collection[str], new: Collection[str]) -> None:
    """Raise `ApiError` if an update with an update policy changes the names of variants.

    "When doing a blue/green or rolling deployment, your new endpoint configuration must have the
    same variant name as the old endpoint configuration" (deployment-guardrails-exclusions). Without
    a policy they may change: Terraform's provider generates random names.
    """
    policies = config.keys() & {"BlueGreenUpdatePolicy", "RollingUpdatePolicy"}
    if policies and set(old) != set(new):
        raise invalid(
            f"The new endpoint configuration has the variants {', '.join(new)}, the endpoint has "
            f"{', '.join(old)}: the names must be the same with a {policies.pop()}."
        )


def check_alarms_exist(names: Collection[str], states: Mapping[str, str]) -> None:
    """Raise `ApiError` if an alarm has no state, because it does not exist.

    SageMaker's behaviour has no source; it requires `cloudwatch:DescribeAlarms` for each alarm.
    """
    missing = [name for name in names if name not in states]
    if missing:
        raise invalid(f"Could not find the CloudWatch alarm {', '.join(missing)}.")


def _check_step_size(member: str, policy: Record, minimum: int, counts: Mapping[str, int]) -> None:
    size = policy[member]
    for variant, count in counts.items():
        if not minimum <= capacity_share(size, count) * 100 <= MAX_PERCENT:
            raise invalid(
                f"{member} is {size['Value']} ({size['Type']}): it must be {minimum} to "
                f"{MAX_PERCENT} percent of the {count} instances of variant {variant}."
            )
