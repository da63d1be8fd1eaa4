"""The table of describers: how the change of each property is described.

The first row applies whose patterns match the resource's type and the property's path. The path is
that below `Properties`, or an attribute such as `DeletionPolicy`, without list indexes. A path that
ends with [] stands for a named list item that is new or gone, an empty path for the whole resource,
in addition to its properties. A property without a row is shown with both values.
"""

from fnmatch import fnmatchcase
from functools import cache
from typing import NamedTuple

from release.review.describers import (
    alarms,
    contents,
    networks,
    notifications,
    scaling,
    storage,
    updates,
)
from release.review.describers.generic import (
    guarded,
    is_off,
    is_on,
    is_own_key,
    is_set,
    labelled,
    named_value,
    on_creation,
    on_deletion,
    silent,
)
from release.review.property_change import ChangeLine, Describer

ENCRYPTION, SAFEGUARDS = storage.ENCRYPTION, contents.SAFEGUARDS
ACCESS = "access, which is compared by what policies mean: release/review/access"
MODELS = "of a model's version, whose change the table of models has"
WHOLE = silent("described with the resource as a whole")
BUILDER = (
    "the code that builds models changes: models that do not change are built again only if "
    "BUILD_FORMAT in model_build/digest.py is raised"
)
LIMITED = guarded(SAFEGUARDS, is_off, "scaling is suspended")


class _Row(NamedTuple):
    """A pattern of types, a pattern of paths, and the describer."""

    type: str
    path: str
    describe: Describer


TABLE = (
    # access
    _Row("*", "*PolicyDocument", contents.policy),
    _Row("AWS::KMS::Key", "KeyPolicy", contents.policy),
    _Row("AWS::IAM::*", "Policies", silent(ACCESS)),
    _Row("*", "ManagedPolicyArns", silent(ACCESS)),
    _Row("AWS::Lambda::Permission", "*", silent(ACCESS)),
    # Lambda developer guide, urls-auth: NONE lets anyone invoke the function
    _Row("AWS::Lambda::Url", "AuthType",
        guarded(networks.PUBLIC, lambda item: item != "NONE", "lets anyone invoke a function")),
    *(_Row("*", name, contents.role) for name in ("*Role", "*RoleArn")),
    # IAM user guide, id_credentials_access-keys
    _Row("AWS::IAM::AccessKey", "",
        on_creation(SAFEGUARDS, "gives somebody credentials that do not expire")),
    # IAM user guide, access_policies_boundaries
    _Row("AWS::IAM::Role", "PermissionsBoundary",
        guarded(SAFEGUARDS, is_set, "has no permissions boundary any more")),
    # text for people
    _Row("*", "*Description", silent("text for people, which nothing reads")),
    _Row("AWS::CloudWatch::Dashboard", "DashboardBody",
        silent("a picture for people, of the same metrics; it changes with every variant")),
    # endpoints
    _Row("AWS::SageMaker::Endpoint", "", updates.endpoint),
    _Row("AWS::SageMaker::Endpoint", "EndpointName", silent("the endpoint's state says it")),
    _Row("AWS::SageMaker::Endpoint", "DeploymentConfig", updates.deployment),
    _Row("AWS::SageMaker::EndpointConfig", "ProductionVariants[]", contents.variant),
    _Row("AWS::SageMaker::EndpointConfig", "ShadowProductionVariants[]", contents.shadow_variant),
    _Row("AWS::SageMaker::EndpointConfig", "*.InstanceType", labelled("instance type")),
    _Row("AWS::SageMaker::EndpointConfig", "*.InstancePools", contents.pools),
    _Row("AWS::SageMaker::EndpointConfig", "*.InitialInstanceCount", scaling.initial_count),
    _Row("AWS::SageMaker::EndpointConfig", "", scaling.shares),
    _Row("AWS::SageMaker::EndpointConfig", "*.InitialVariantWeight", WHOLE),
    _Row("AWS::SageMaker::EndpointConfig", "DataCaptureConfig", storage.capture),
    # SageMaker API reference, ProductionVariant: "native AWS Systems Manager (SSM) access"
    _Row("AWS::SageMaker::EndpointConfig", "*.EnableSSMAccess",
        guarded(SAFEGUARDS, is_off, "people may log in to instances through Systems Manager")),
    # SageMaker API reference, CreateModel, EnableNetworkIsolation
    _Row("AWS::SageMaker::Model", "EnableNetworkIsolation",
        guarded(SAFEGUARDS, is_on, "may make calls out of its container")),
    _Row("*", "VpcConfig.Subnet*s", networks.subnets),
    _Row("AWS::SageMaker::Model", "*Container.Mode", labelled("hosting")),
    _Row("AWS::SageMaker::Model", "*.ModelCacheSetting", labelled("models stay in memory")),
    _Row("AWS::SageMaker::Model", "*.Environment", contents.container_environment),
    _Row("AWS::SageMaker::Model", "*.ModelDataUrl",
        contents.described_elsewhere("models are loaded from", contents.DIGEST)),
    _Row("AWS::SageMaker::Model", "*.Image",
        contents.described_elsewhere("image:", contents.RELEASE)),
    *(_Row("Custom::TritonModel", name, silent(MODELS)) for name in ("Digest", "Target")),
    *(_Row("Custom::TritonModel", name, contents.build)
      for name in ("Alternative", "Key", "Source")),
    _Row("AWS::SSM::Parameter", "Value", contents.catalog_entry),
    _Row("Custom::TritonUpdateGuard", "Archives", contents.guarded_archives),
    _Row("Custom::TritonUpdateGuard", "Deployment", silent("a copy of the DeploymentConfig")),
    _Row("Custom::TritonUpdate*", "", contents.guard),
    # inference components
    *(_Row("AWS::SageMaker::InferenceComponent", name, updates.component_identity)
      for name in ("EndpointName", "InferenceComponentName", "VariantName")),
    _Row("AWS::SageMaker::InferenceComponent", "DeploymentConfig", updates.component_deployment),
    _Row("AWS::SageMaker::InferenceComponent", "*.MinMemoryRequiredInMb",
        labelled("MiB that each copy reserves, all of which are replaced")),
    _Row("AWS::SageMaker::InferenceComponent", "*.NumberOfAcceleratorDevicesRequired",
        labelled("GPUs that each copy reserves, all of which are replaced")),
    _Row("AWS::SageMaker::InferenceComponent", "*.NumberOfCpuCoresRequired",
        labelled("vCPUs that each copy reserves, all of which are replaced")),
    # that an update of the stack sets it again has no source
    _Row("AWS::SageMaker::InferenceComponent", "RuntimeConfig.CopyCount",
        labelled("copies that it is created with, which this update may set, too")),
    _Row("AWS::SageMaker::EndpointConfig", "*.ManagedInstanceScaling.M??InstanceCount",
        labelled("limit of the instances for copies")),
    # scaling: API reference, RegisterScalableTarget, SuspendedState
    _Row("AWS::ApplicationAutoScaling::ScalableTarget", "", scaling.scalable_target),
    _Row("AWS::ApplicationAutoScaling::ScalableTarget", "M??Capacity", scaling.capacity),
    _Row("AWS::ApplicationAutoScaling::ScalableTarget", "ScheduledActions[]", scaling.schedule),
    _Row("AWS::ApplicationAutoScaling::ScalableTarget", "SuspendedState.*", LIMITED),
    _Row("AWS::ApplicationAutoScaling::ScalingPolicy", "", scaling.scaling_policy),
    _Row("AWS::ApplicationAutoScaling::ScalingPolicy", "TargetTracking*.TargetValue", WHOLE),
    _Row("AWS::ApplicationAutoScaling::ScalingPolicy", "TargetTracking*Cooldown", scaling.cooldown),
    # alarms
    *(_Row(f"AWS::CloudWatch::{kind}", "", alarms.alarm) for kind in ("Alarm", "CompositeAlarm")),
    *(_Row("AWS::CloudWatch::*Alarm", name, WHOLE) for name in alarms.JUDGED),
    _Row("AWS::SNS::Subscription", "", notifications.subscription),
    *(_Row("AWS::SNS::Subscription", name, WHOLE) for name in notifications.SUBSCRIBED),
    # networks
    _Row("AWS::EC2::SecurityGroup*", "", networks.security_group),
    *(_Row(kind, "", on_creation(networks.ROUTES, "reaches other networks"))
      for kind in networks.GATEWAYS),
    _Row("AWS::EC2::Route", "", networks.route),
    _Row("AWS::EC2::VPCEndpoint", "", networks.vpc_endpoint),
    _Row("AWS::EC2::Subnet", "MapPublicIpOnLaunch",
        guarded(networks.ROUTES, is_off, "its instances get public addresses")),
    # storage
    _Row("AWS::S3::Bucket", "LifecycleConfiguration", storage.lifecycle),
    _Row("AWS::S3::Bucket", "LoggingConfiguration.DestinationBucketName",
        guarded(storage.RECORDS, is_set, "access to the bucket is no longer logged")),
    # S3 user guide, Versioning
    _Row("AWS::S3::Bucket", "VersioningConfiguration.Status",
        guarded(SAFEGUARDS, is_on, "keeps no earlier versions of objects any more")),
    _Row("AWS::S3::Bucket", "PublicAccessBlockConfiguration.*",
        guarded(networks.PUBLIC, is_on, "no longer blocks public access")),
    # S3 user guide, acl-overview, canned ACLs
    _Row("AWS::S3::Bucket", "AccessControl", guarded(networks.PUBLIC, lambda item: item not in (
        "PublicRead", "PublicReadWrite", "AuthenticatedRead"), "lets anyone read the bucket")),
    # S3 user guide, replication
    _Row("AWS::S3::Bucket", "ReplicationConfiguration",
        on_creation("new_recipients", "copies its objects to another bucket")),
    _Row("AWS::Logs::LogGroup", "RetentionInDays", storage.retention),
    _Row("AWS::Logs::SubscriptionFilter", "",
        on_creation("new_recipients", "what is logged goes to another place, too")),
    _Row("AWS::EC2::FlowLog", "", on_deletion(storage.RECORDS, "no longer records traffic")),
    _Row("AWS::CloudTrail::Trail", "", on_deletion(storage.RECORDS, "no longer records calls")),
    # KMS developer guide, rotate-keys; API reference, DisableKey: enabled unless it is set
    _Row("AWS::KMS::Key", "EnableKeyRotation",
        guarded(SAFEGUARDS, is_on, "is no longer rotated")),
    _Row("AWS::KMS::Key", "Enabled", guarded(SAFEGUARDS, lambda item: item is None or is_on(item),
        "is disabled: what it encrypts cannot be read")),
    *(_Row("*", f"*{name}", guarded(ENCRYPTION, is_own_key, "loses the encryption with its key"))
      for name in ("KmsKeyId", "KmsKeyArn", "KmsMasterKeyId", "EncryptionKey", "KMSMasterKeyID")),
    _Row("*", "*.SSEAlgorithm", guarded(ENCRYPTION, lambda item: str(item).startswith("aws:kms"),
        "loses the encryption with its key")),
    # builds: CodeBuild user guide, change-project: privileged mode reaches the Docker daemon
    _Row("AWS::CodeBuild::Project", "Environment.PrivilegedMode",
        guarded(SAFEGUARDS, is_off, "builds in privileged mode")),
    _Row("AWS::CodeBuild::Project", "Environment.Image",
        guarded("lost_pins", lambda item: "@sha256:" in str(item), "builds in any image of a tag")),
    *(_Row("AWS::CodeBuild::Project", f"Environment.EnvironmentVariables{end}",
        named_value("variable")) for end in ("[]", ".Value")),
    # CodeBuild API reference, Project, projectVisibility; ProjectSource, insecureSsl; LogsConfig
    _Row("AWS::CodeBuild::Project", "Visibility",
        guarded(networks.PUBLIC, lambda item: item != "PUBLIC_READ", "lets anyone read builds")),
    _Row("AWS::CodeBuild::Project", "Source.InsecureSsl",
        guarded(SAFEGUARDS, is_off, "checks no certificate of its source")),
    _Row("AWS::CodeBuild::Project", "LogsConfig.*.Status",
        guarded(storage.RECORDS, lambda item: item != "DISABLED", "builds are no longer logged")),
    # Lambda developer guide, configuration-concurrency: 0 throttles every invocation
    _Row("AWS::Lambda::Function", "ReservedConcurrentExecutions",
        guarded(SAFEGUARDS, lambda item: item != 0, "can no longer run")),
    _Row("AWS::CodeBuild::Project", "Source.BuildSpec", contents.build_commands),
    # an archive is named by its model's digest, which the builder's code is no part of
    _Row("AWS::CodeBuild::Project", "Source.Location", lambda _: [ChangeLine(BUILDER)]),
    # attributes
    _Row("*", "Tags?*", named_value("tag")),
    *(_Row("*", name, guarded("replaced_resources", lambda item: item == "Retain",
          "no longer outlives its stack")) for name in ("DeletionPolicy", "UpdateReplacePolicy")),
    _Row("*", "DependsOn", contents.waits),
)  # fmt: skip


@cache
def describer(resource_type: str, path: str) -> Describer | None:
    """Return the describer of a property, None if no row matches."""
    for row in TABLE:
        matches = row.path == path or (path and row.path and fnmatchcase(path, row.path))
        if matches and fnmatchcase(resource_type, row.type):
            return row.describe
    return None
