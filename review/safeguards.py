"""Safe values of properties, which a change may lose, and which a new resource has or not."""

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from review.values import value_differences

RETENTION_POLICIES = ("DeletionPolicy", "UpdateReplacePolicy")
"""Attributes of a resource whose names are like those of policies of access."""


class Loss(NamedTuple):
    """A property whose safe value becomes an unsafe one, in patterns of types and paths.

    `noun` names the safe value in the description of a new resource; without one, it has none.
    """

    type: str
    path: str
    is_safe: Callable[[Any], bool]
    rule: str
    text: str
    noun: str = ""


def is_on(value: Any) -> bool:
    """Return whether a setting is enabled."""
    return value in (True, "true", "Enabled")


def is_off(value: Any) -> bool:
    """Return whether a setting is disabled or absent."""
    return not is_on(value)


def is_set(value: Any) -> bool:
    """Return whether a property is set."""
    return value is not None and value != {"Ref": "AWS::NoValue"}


def is_no_aws_key(value: Any) -> bool:
    """Return whether a key is not one that AWS manages; its name may be an alias or an ARN."""
    return "alias/aws/" not in str(value)


def is_customer_key(value: Any) -> bool:
    """Return whether a key is set and managed by the customer, not by AWS."""
    return is_set(value) and is_no_aws_key(value)


def is_pinned(value: Any) -> bool:
    """Return whether an image is named by its digest."""
    return "@sha256:" in str(value)


NO_KEY = "is no longer encrypted with a customer-managed key"

ROWS = (
    # IAM user guide, access_policies_boundaries
    Loss("AWS::IAM::Role", "PermissionsBoundary", is_set,
        "lost_safeguards", "loses its permissions boundary"),
    # API reference, UpdateEndpoint, RetainAllVariantProperties
    Loss("AWS::SageMaker::Endpoint", "RetainAllVariantProperties", is_on, "reset_instance_counts",
        "updates set the initial number of instances, independent of the load"),
    # SageMaker API reference, CreateModel, EnableNetworkIsolation; ProductionVariant
    Loss("AWS::SageMaker::Model", "EnableNetworkIsolation", is_on,
        "lost_safeguards", "its container has network access"),
    Loss("AWS::SageMaker::EndpointConfig", "DataCaptureConfig.EnableCapture", is_on,
        "lost_logging", "requests are no longer captured"),
    # S3 user guide: Versioning, ServerLogs, access-control-block-public-access
    Loss("AWS::S3::Bucket", "PublicAccessBlockConfiguration.*", is_on,
        "public_exposure", "no longer blocks public access", "blocked public access"),
    Loss("AWS::S3::Bucket", "VersioningConfiguration.Status", is_on,
        "lost_safeguards", "no longer keeps earlier versions of objects", "versions"),
    Loss("AWS::S3::Bucket", "LoggingConfiguration.DestinationBucketName", is_set,
        "lost_logging", "access to the bucket is no longer logged", "access logs"),
    # KMS developer guide, rotate-keys; API reference, DisableKey: a key is enabled by default
    Loss("AWS::KMS::Key", "EnableKeyRotation", is_on,
        "lost_safeguards", "is no longer rotated", "rotation"),
    Loss("AWS::KMS::Key", "Enabled", lambda value: value is None or is_on(value),
        "lost_safeguards", "is disabled: data encrypted with it cannot be read"),
    # SNS developer guide, sns-key-management: the policy of aws/sns does not allow other services
    Loss("AWS::SNS::Topic", "KmsMasterKeyId", is_no_aws_key, "silenced_alarms",
        "alarms may not use AWS's key, and notify nobody"),
    *(Loss("*", f"*{name}", is_customer_key, "encryption_removed", NO_KEY)
      for name in ("KmsKeyId", "KmsKeyArn", "KmsMasterKeyId", "EncryptionKey", "KMSMasterKeyID")),
    Loss("AWS::S3::Bucket", "*.SSEAlgorithm", lambda value: str(value).startswith("aws:kms"),
        "encryption_removed", NO_KEY, "encryption by a key of KMS"),
    # CodeBuild user guide, change-project; API reference, LogsConfig
    Loss("AWS::CodeBuild::Project", "Environment.PrivilegedMode", is_off,
        "lost_safeguards", "builds in privileged mode"),
    Loss("AWS::CodeBuild::Project", "Environment.Image", is_pinned,
        "lost_pins", "the build image is not pinned by digest"),
    Loss("AWS::CodeBuild::Project", "LogsConfig.*.Status", lambda value: value != "DISABLED",
        "lost_logging", "builds are no longer logged"),
    # DynamoDB developer guide, Point-in-time recovery, deletion protection
    Loss("AWS::DynamoDB::*", "*PointInTimeRecoveryEnabled", is_on,
        "lost_safeguards", "has no backups of the last days", "backups"),
    Loss("AWS::DynamoDB::*", "DeletionProtectionEnabled", is_on,
        "lost_safeguards", "can be deleted", "deletion protection"),
    Loss("AWS::EC2::Subnet", "MapPublicIpOnLaunch", is_off,
        "internet_routes", "its instances get public addresses"),
    *(Loss("*", name, lambda value: value == "Retain",
          "replaced_resources", "is no longer retained when its stack is deleted")
      for name in RETENTION_POLICIES),
)  # fmt: skip


def settings_of_new(resource: Mapping[str, Any], *, only_tls: bool) -> str:
    """Return which safe values of the table a new resource has, and which it lacks.

    `only_tls`: whether a policy denies other access.
    """
    has, lacks = list[str](), list[str]()
    for row in ROWS:
        if row.noun and fnmatchcase(resource["Type"], row.type):
            values = [*_values(resource.get("Properties", {}), row.path)] or [None]
            (has if all(map(row.is_safe, values)) else lacks).append(row.noun)
    if resource["Type"] == "AWS::S3::Bucket":
        (has if only_tls else lacks).append("access by TLS only")
    if has or lacks:
        is_retained = resource.get(RETENTION_POLICIES[0]) == "Retain"
        (has if is_retained else lacks).append("retention after its stack")
    texts = [f"{word} {', '.join(names)}" for word, names in (("with", has), ("without", lacks))
             if names]  # fmt: skip
    return f" {', '.join(texts)}" if texts else ""


def _values(properties: Mapping[str, Any], path: str) -> Iterator[Any]:
    for difference in value_differences({}, dict(properties)):
        if fnmatchcase(difference.path, path):
            yield difference.after
