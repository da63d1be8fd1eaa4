"""The table that assigns a describer to each resource property.

The first row whose patterns match the resource type and the property path applies. A path has the
keys below `Properties`, or is an attribute such as `DeletionPolicy`; list indexes are omitted. A
path that ends with [] matches a new or removed list item that has a name. An empty path matches the
whole resource, whose properties are described separately. A property without a row is shown with
both values.
"""

from fnmatch import fnmatchcase
from functools import cache
from typing import NamedTuple

from review.describers import (
    alarms,
    contents,
    networks,
    notifications,
    scaling,
    storage,
    updates,
)
from review.describers.contents import LOST_SAFEGUARDS
from review.describers.generic import (
    danger_if_lost,
    danger_on_creation,
    danger_on_deletion,
    is_customer_key,
    is_off,
    is_on,
    is_set,
    named_value,
    not_described,
    with_label,
)
from review.describers.networks import INTERNET_ROUTES, PUBLIC_EXPOSURE
from review.describers.storage import ENCRYPTION_REMOVED, LOST_LOGGING
from review.property_change import ChangeLine, Describer

PERMISSIONS = not_described("permissions are compared by review/access")
MODEL_VERSION = not_described("part of a model's version, which is in the table of models")
WITH_RESOURCE = not_described("described with the whole resource")
BUILDER_CHANGE = (
    "the code that builds models changes: unchanged models are rebuilt only if BUILD_FORMAT in "
    "model_build/digest.py is raised"
)
NO_CUSTOMER_KEY = "is no longer encrypted with a customer-managed key"
PUBLIC_ACLS = ("PublicRead", "PublicReadWrite", "AuthenticatedRead")


class _Row(NamedTuple):
    """A pattern of resource types, a pattern of property paths, and the describer."""

    type: str
    path: str
    describe: Describer


TABLE = (
    # access
    _Row("*", "*PolicyDocument", contents.describe_policy),
    _Row("AWS::KMS::Key", "KeyPolicy", contents.describe_policy),
    _Row("AWS::IAM::*", "Policies", PERMISSIONS),
    _Row("*", "ManagedPolicyArns", PERMISSIONS),
    _Row("AWS::Lambda::Permission", "*", PERMISSIONS),
    # Lambda developer guide, urls-auth: NONE lets anyone invoke the function
    _Row("AWS::Lambda::Url", "AuthType",
        danger_if_lost(PUBLIC_EXPOSURE, lambda value: value != "NONE",
            "lets anyone invoke a function")),
    *(_Row("*", name, contents.describe_role) for name in ("*Role", "*RoleArn")),
    # IAM user guide, id_credentials_access-keys
    _Row("AWS::IAM::AccessKey", "",
        danger_on_creation(LOST_SAFEGUARDS, "creates credentials that do not expire")),
    # IAM user guide, access_policies_boundaries
    _Row("AWS::IAM::Role", "PermissionsBoundary",
        danger_if_lost(LOST_SAFEGUARDS, is_set, "loses its permissions boundary")),
    # text for people
    _Row("*", "*Description", not_described("text for people, without effect")),
    _Row("AWS::CloudWatch::Dashboard", "DashboardBody",
        not_described("charts for people; the body changes with every variant")),
    # endpoints
    _Row("AWS::SageMaker::Endpoint", "", updates.describe_retained_counts),
    _Row("AWS::SageMaker::Endpoint", "EndpointName",
        not_described("a renamed endpoint has its own sentence")),
    _Row("AWS::SageMaker::Endpoint", "DeploymentConfig", updates.describe_deployment),
    _Row("AWS::SageMaker::EndpointConfig", "ProductionVariants[]", contents.describe_variant),
    _Row("AWS::SageMaker::EndpointConfig", "ShadowProductionVariants[]",
        contents.describe_shadow_variant),
    _Row("AWS::SageMaker::EndpointConfig", "*.InstanceType", with_label("instance type")),
    _Row("AWS::SageMaker::EndpointConfig", "*.InstancePools", contents.describe_pools),
    _Row("AWS::SageMaker::EndpointConfig", "*.InitialInstanceCount",
        scaling.describe_initial_count),
    _Row("AWS::SageMaker::EndpointConfig", "", scaling.describe_traffic_shares),
    _Row("AWS::SageMaker::EndpointConfig", "*.InitialVariantWeight", WITH_RESOURCE),
    _Row("AWS::SageMaker::EndpointConfig", "DataCaptureConfig", storage.describe_capture),
    # SageMaker API reference, ProductionVariant: "native AWS Systems Manager (SSM) access"
    _Row("AWS::SageMaker::EndpointConfig", "*.EnableSSMAccess",
        danger_if_lost(LOST_SAFEGUARDS, is_off,
            "allows login to instances through Systems Manager")),
    # SageMaker API reference, CreateModel, EnableNetworkIsolation
    _Row("AWS::SageMaker::Model", "EnableNetworkIsolation",
        danger_if_lost(LOST_SAFEGUARDS, is_on, "its container has network access")),
    _Row("*", "VpcConfig.Subnet*s", networks.describe_subnets),
    _Row("AWS::SageMaker::Model", "*Container.Mode", with_label("hosting")),
    _Row("AWS::SageMaker::Model", "*.ModelCacheSetting", with_label("model cache")),
    _Row("AWS::SageMaker::Model", "*.Environment", contents.describe_container_environment),
    _Row("AWS::SageMaker::Model", "*.ModelDataUrl",
        contents.value_without("models are loaded from", contents.ARCHIVE_DIGEST)),
    _Row("AWS::SageMaker::Model", "*.Image", contents.value_without("image:", contents.TRITON_TAG)),
    *(_Row("Custom::TritonModel", name, MODEL_VERSION)
      for name in ("Digest", "Target")),
    *(_Row("Custom::TritonModel", name, contents.describe_archive_build)
      for name in ("Alternative", "Key", "Source")),
    _Row("AWS::SSM::Parameter", "Value", contents.describe_catalog_entry),
    _Row("Custom::TritonUpdateGuard", "Archives", contents.describe_guarded_archives),
    _Row("Custom::TritonUpdateGuard", "Deployment",
        not_described("a copy of the DeploymentConfig")),
    _Row("Custom::TritonUpdate*", "", contents.describe_removed_guard),
    # inference components
    *(_Row("AWS::SageMaker::InferenceComponent", name, updates.describe_component_identity)
      for name in ("EndpointName", "InferenceComponentName", "VariantName")),
    _Row("AWS::SageMaker::InferenceComponent", "DeploymentConfig",
        updates.describe_component_deployment),
    _Row("AWS::SageMaker::InferenceComponent", "*.MinMemoryRequiredInMb",
        with_label("memory of each copy in MiB (all copies are replaced)")),
    _Row("AWS::SageMaker::InferenceComponent", "*.NumberOfAcceleratorDevicesRequired",
        with_label("GPUs of each copy (all copies are replaced)")),
    _Row("AWS::SageMaker::InferenceComponent", "*.NumberOfCpuCoresRequired",
        with_label("vCPUs of each copy (all copies are replaced)")),
    # no source documents whether a stack update sets the number of copies again
    _Row("AWS::SageMaker::InferenceComponent", "RuntimeConfig.CopyCount",
        with_label("initial number of copies (this update may also set it)")),
    _Row("AWS::SageMaker::EndpointConfig", "*.ManagedInstanceScaling.M??InstanceCount",
        with_label("instance limit")),
    # scaling: API reference, RegisterScalableTarget, SuspendedState
    _Row("AWS::ApplicationAutoScaling::ScalableTarget", "", scaling.describe_scalable_target),
    _Row("AWS::ApplicationAutoScaling::ScalableTarget", "M??Capacity", scaling.describe_capacity),
    _Row("AWS::ApplicationAutoScaling::ScalableTarget", "ScheduledActions[]",
        scaling.describe_schedule),
    _Row("AWS::ApplicationAutoScaling::ScalableTarget", "SuspendedState.*",
        danger_if_lost(LOST_SAFEGUARDS, is_off, "scaling is suspended")),
    _Row("AWS::ApplicationAutoScaling::ScalingPolicy", "", scaling.describe_scaling_policy),
    _Row("AWS::ApplicationAutoScaling::ScalingPolicy",
            "TargetTracking*.TargetValue", WITH_RESOURCE),
    _Row("AWS::ApplicationAutoScaling::ScalingPolicy", "TargetTracking*Cooldown",
        scaling.describe_cooldown),
    # alarms
    *(_Row(f"AWS::CloudWatch::{kind}", "", alarms.describe_alarm)
      for kind in ("Alarm", "CompositeAlarm")),
    *(_Row("AWS::CloudWatch::*Alarm", name, WITH_RESOURCE) for name in alarms.ALARM_PROPERTIES),
    _Row("AWS::SNS::Subscription", "", notifications.describe_subscription),
    *(_Row("AWS::SNS::Subscription", name, WITH_RESOURCE)
      for name in notifications.SUBSCRIPTION_PROPERTIES),
    # networks
    _Row("AWS::EC2::SecurityGroup*", "", networks.describe_security_group),
    *(_Row(kind, "", danger_on_creation(INTERNET_ROUTES, "connects to other networks"))
      for kind in networks.GATEWAY_TYPES),
    _Row("AWS::EC2::Route", "", networks.describe_route),
    _Row("AWS::EC2::VPCEndpoint", "", networks.describe_vpc_endpoint),
    _Row("AWS::EC2::Subnet", "MapPublicIpOnLaunch",
        danger_if_lost(INTERNET_ROUTES, is_off, "its instances get public addresses")),
    # storage
    _Row("AWS::S3::Bucket", "LifecycleConfiguration", storage.describe_lifecycle),
    _Row("AWS::S3::Bucket", "LoggingConfiguration.DestinationBucketName",
        danger_if_lost(LOST_LOGGING, is_set, "access to the bucket is no longer logged")),
    # S3 user guide, Versioning
    _Row("AWS::S3::Bucket", "VersioningConfiguration.Status",
        danger_if_lost(LOST_SAFEGUARDS, is_on, "no longer keeps earlier versions of objects")),
    _Row("AWS::S3::Bucket", "PublicAccessBlockConfiguration.*",
        danger_if_lost(PUBLIC_EXPOSURE, is_on, "no longer blocks public access")),
    # S3 user guide, acl-overview, canned ACLs
    _Row("AWS::S3::Bucket", "AccessControl",
        danger_if_lost(PUBLIC_EXPOSURE, lambda acl: acl not in PUBLIC_ACLS,
            "lets anyone read the bucket")),
    # S3 user guide, replication
    _Row("AWS::S3::Bucket", "ReplicationConfiguration",
        danger_on_creation("new_recipients", "copies its objects to another bucket")),
    _Row("AWS::Logs::LogGroup", "RetentionInDays", storage.describe_retention),
    _Row("AWS::Logs::SubscriptionFilter", "",
        danger_on_creation("new_recipients", "sends log events to another destination")),
    _Row("AWS::EC2::FlowLog", "", danger_on_deletion(LOST_LOGGING, "no longer records traffic")),
    _Row("AWS::CloudTrail::Trail", "", danger_on_deletion(LOST_LOGGING, "no longer records calls")),
    # KMS developer guide, rotate-keys; API reference, DisableKey: a key is enabled by default
    _Row("AWS::KMS::Key", "EnableKeyRotation",
        danger_if_lost(LOST_SAFEGUARDS, is_on, "is no longer rotated")),
    _Row("AWS::KMS::Key", "Enabled",
        danger_if_lost(LOST_SAFEGUARDS, lambda value: value is None or is_on(value),
            "is disabled: data encrypted with it cannot be read")),
    *(_Row("*", f"*{name}", danger_if_lost(ENCRYPTION_REMOVED, is_customer_key, NO_CUSTOMER_KEY))
      for name in ("KmsKeyId", "KmsKeyArn", "KmsMasterKeyId", "EncryptionKey", "KMSMasterKeyID")),
    _Row("*", "*.SSEAlgorithm",
        danger_if_lost(ENCRYPTION_REMOVED, lambda value: str(value).startswith("aws:kms"),
            NO_CUSTOMER_KEY)),
    # CodeBuild user guide, change-project: privileged mode gives access to the Docker daemon
    _Row("AWS::CodeBuild::Project", "Environment.PrivilegedMode",
        danger_if_lost(LOST_SAFEGUARDS, is_off, "builds in privileged mode")),
    _Row("AWS::CodeBuild::Project", "Environment.Image",
        danger_if_lost("lost_pins", lambda value: "@sha256:" in str(value),
            "the build image is not pinned by digest")),
    *(_Row("AWS::CodeBuild::Project", f"Environment.EnvironmentVariables{end}",
        named_value("variable")) for end in ("[]", ".Value")),
    # CodeBuild API reference, Project, projectVisibility; ProjectSource, insecureSsl; LogsConfig
    _Row("AWS::CodeBuild::Project", "Visibility",
        danger_if_lost(PUBLIC_EXPOSURE, lambda value: value != "PUBLIC_READ",
            "lets anyone read builds")),
    _Row("AWS::CodeBuild::Project", "Source.InsecureSsl",
        danger_if_lost(LOST_SAFEGUARDS, is_off,
            "does not verify the TLS certificate of its source")),
    _Row("AWS::CodeBuild::Project", "LogsConfig.*.Status",
        danger_if_lost(LOST_LOGGING, lambda value: value != "DISABLED",
            "builds are no longer logged")),
    _Row("AWS::CodeBuild::Project", "Source.BuildSpec", contents.describe_build_commands),
    # an archive's name has the digest of its model, without the builder's code
    _Row("AWS::CodeBuild::Project", "Source.Location", lambda _: [ChangeLine(BUILDER_CHANGE)]),
    # Lambda developer guide, configuration-concurrency: 0 throttles every invocation
    _Row("AWS::Lambda::Function", "ReservedConcurrentExecutions",
        danger_if_lost(LOST_SAFEGUARDS, lambda value: value != 0, "can no longer run")),
    # attributes of any resource
    _Row("*", "Tags?*", named_value("tag")),
    *(_Row("*", name, danger_if_lost("replaced_resources", lambda value: value == "Retain",
          "is no longer retained when its stack is deleted"))
      for name in ("DeletionPolicy", "UpdateReplacePolicy")),
    _Row("*", "DependsOn", contents.describe_dependencies),
)  # fmt: skip


@cache
def describer(resource_type: str, path: str) -> Describer | None:
    """Return the describer of a property, None if no row matches."""
    for row in TABLE:
        matches = row.path == path or (path and row.path and fnmatchcase(path, row.path))
        if matches and fnmatchcase(resource_type, row.type):
            return row.describe
    return None
