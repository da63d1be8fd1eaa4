"""Supported request members; every other member is rejected by name.

`SUPPORTED` lists them by service and botocore structure. Required members are not listed, because
all of them are supported. The following members have no effect; Describe operations return them:

- descriptions and tags
- `ContainerHostname`, `ImageConfig`, `VpcConfig`, `EnableNetworkIsolation`: no image is pulled, and
  no container has a network
- `ExecutionRoleArn` of endpoint configurations, `RoleARN` of scalable targets
- `KmsKeyId` of volumes, `InferenceAmiVersion`, `imagePullCredentialsType`
- `MetricsConfig`: metrics are published once a minute
- `ModelDataDownloadTimeoutInSeconds`
- `RoutingStrategy`: calls go to the least busy instance
"""

from collections.abc import Iterator
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StructureShape

from local_sagemaker.errors import ApiError
from local_sagemaker.validation.model import error_code

_PAGE_MEMBERS = "MaxResults NextToken"
_LIST_MEMBERS = f"{_PAGE_MEMBERS} NameContains SortBy SortOrder"
_PROJECT_MEMBERS = (
    "artifacts cache description encryptionKey environment logsConfig name queuedTimeoutInMinutes "
    "secondarySources serviceRole source tags timeoutInMinutes"
)

SUPPORTED: dict[str, dict[str, str]] = {
    "sagemaker": {
        "Alarm": "AlarmName",
        "AutoRollbackConfig": "Alarms",
        "BlueGreenUpdatePolicy": "MaximumExecutionTimeoutInSeconds TerminationWaitInSeconds",
        "ContainerDefinition": "ContainerHostname Environment Image ImageConfig Mode ModelDataUrl "
        "MultiModelConfig",
        "CreateEndpointConfigInput": "DataCaptureConfig EnableNetworkIsolation ExecutionRoleArn "
        "KmsKeyId MetricsConfig Tags VpcConfig",
        "CreateEndpointInput": "DeploymentConfig Tags",
        "CreateInferenceComponentInput": "RuntimeConfig Specification Tags VariantName",
        "CreateModelInput": "EnableNetworkIsolation ExecutionRoleArn PrimaryContainer Tags "
        "VpcConfig",
        "CaptureContentTypeHeader": "CsvContentTypes JsonContentTypes",
        "DataCaptureConfig": "CaptureContentTypeHeader EnableCapture KmsKeyId",
        "DeploymentConfig": "AutoRollbackConfiguration BlueGreenUpdatePolicy RollingUpdatePolicy",
        "DesiredWeightAndCapacity": "DesiredInstanceCount DesiredWeight",
        "ImageConfig": "RepositoryAuthConfig",
        "InstancePool": "ModelNameOverride",
        "InferenceComponentComputeResourceRequirements": "NumberOfAcceleratorDevicesRequired "
        "NumberOfCpuCoresRequired",
        "InferenceComponentDeploymentConfig": "AutoRollbackConfiguration",
        "InferenceComponentRollingUpdatePolicy": "MaximumExecutionTimeoutInSeconds",
        "InferenceComponentSpecification": "ComputeResourceRequirements ModelName "
        "StartupParameters",
        "InferenceComponentStartupParameters": "ContainerStartupHealthCheckTimeoutInSeconds "
        "ModelDataDownloadTimeoutInSeconds",
        "ListEndpointConfigsInput": _LIST_MEMBERS,
        "ListEndpointsInput": f"{_LIST_MEMBERS} StatusEquals",
        "ListInferenceComponentsInput": f"{_LIST_MEMBERS} EndpointNameEquals "
        "StatusEquals VariantNameEquals",
        "ListModelsInput": _LIST_MEMBERS,
        "ListTagsInput": _PAGE_MEMBERS,
        "MetricsConfig": "EnableDetailedObservability EnableEnhancedMetrics "
        "MetricPublishFrequencyInSeconds",
        "MultiModelConfig": "ModelCacheSetting",
        "ProductionVariant": "ContainerStartupHealthCheckTimeoutInSeconds InferenceAmiVersion "
        "InitialInstanceCount InitialVariantWeight InstancePools InstanceType "
        "ManagedInstanceScaling "
        "ModelDataDownloadTimeoutInSeconds ModelName RoutingConfig "
        "VariantInstanceProvisionTimeoutInSeconds VolumeSizeInGB",
        "ProductionVariantManagedInstanceScaling": "MaxInstanceCount MinInstanceCount Status",
        "RollingUpdatePolicy": "MaximumExecutionTimeoutInSeconds",
        "TrafficRoutingConfig": "CanarySize LinearStepSize",
        "UpdateInferenceComponentInput": "DeploymentConfig RuntimeConfig Specification",
        "UpdateEndpointInput": "DeploymentConfig ExcludeRetainedVariantProperties "
        "RetainAllVariantProperties RetainDeploymentConfig",
    },
    "sagemaker-runtime": {
        "InvokeEndpointInput": "Accept ContentType CustomAttributes InferenceComponentName "
        "InferenceId TargetModel TargetVariant",
    },
    "application-autoscaling": {
        "CustomizedMetricSpecification": "Dimensions MetricName Metrics Namespace Statistic Unit",
        "DescribeScalableTargetsRequest": f"{_PAGE_MEMBERS} ResourceIds ScalableDimension",
        "DescribeScalingActivitiesRequest": f"{_PAGE_MEMBERS} IncludeNotScaledActivities "
        "ResourceId ScalableDimension",
        "DescribeScalingPoliciesRequest": f"{_PAGE_MEMBERS} ResourceId ScalableDimension "
        "PolicyNames",
        "DescribeScheduledActionsRequest": f"{_PAGE_MEMBERS} ResourceId ScalableDimension "
        "ScheduledActionNames",
        "PutScalingPolicyRequest": "PolicyType StepScalingPolicyConfiguration "
        "TargetTrackingScalingPolicyConfiguration",
        "PutScheduledActionRequest": "ScalableTargetAction Schedule Timezone",
        "RegisterScalableTargetRequest": "MaxCapacity MinCapacity RoleARN SuspendedState Tags",
        "ScalableTargetAction": "MaxCapacity MinCapacity",
        "SuspendedState": "DynamicScalingInSuspended DynamicScalingOutSuspended "
        "ScheduledScalingSuspended",
        "StepAdjustment": "MetricIntervalLowerBound MetricIntervalUpperBound",
        "StepScalingPolicyConfiguration": "AdjustmentType Cooldown MetricAggregationType "
        "StepAdjustments",
        "TargetTrackingMetric": "Dimensions MetricName Namespace",
        "TargetTrackingMetricDataQuery": "Expression Label MetricStat ReturnData",
        "TargetTrackingMetricStat": "Unit",
        "TargetTrackingScalingPolicyConfiguration": "CustomizedMetricSpecification DisableScaleIn "
        "PredefinedMetricSpecification ScaleInCooldown ScaleOutCooldown",
    },
    "codebuild": {
        "CloudWatchLogsConfig": "groupName streamName",
        "CreateProjectInput": _PROJECT_MEMBERS,
        "EnvironmentVariable": "type",
        "LogsConfig": "cloudWatchLogs s3Logs",
        "ProjectArtifacts": "location name namespaceType packaging path",
        "ProjectEnvironment": "environmentVariables imagePullCredentialsType",
        "ProjectSource": "buildspec location sourceIdentifier",
        "StartBuildInput": "artifactsOverride environmentVariablesOverride idempotencyToken "
        "imageOverride secondarySourcesOverride",
        "Tag": "key value",
        "UpdateProjectInput": _PROJECT_MEMBERS,
    },
    "service-quotas": {
        "ListAWSDefaultServiceQuotasRequest": _PAGE_MEMBERS,
        "ListServiceQuotasRequest": _PAGE_MEMBERS,
    },
    "ecr": {
        "BatchGetImageRequest": "acceptedMediaTypes registryId",
        "ImageIdentifier": "imageDigest imageTag",
    },
}


def check_supported(service: str, request: dict[str, Any], shape: Shape) -> None:
    """Raise `ApiError` with all unsupported members of a request.

    An unsupported member is accepted if it is empty or False: the AWS CLI, Terraform and the CDK
    send such members.
    """
    reject_members(service, list(_unsupported(request, shape, SUPPORTED[service], "")))


def is_supported(shape: StructureShape, name: str, supported: dict[str, str]) -> bool:
    """Return whether a member of a structure is supported."""
    return name in shape.required_members or name in supported.get(shape.name, "").split()


def reject_members(service: str, members: list[str]) -> None:
    """Raise `ApiError` with the names of unsupported members, unless the list is empty."""
    if members:
        raise ApiError(
            error_code(service),
            f"The local SageMaker does not support {', '.join(members)}: leave it out.",
        )


def _unsupported(value: Any, shape: Shape, supported: dict[str, str], path: str) -> Iterator[str]:
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        for name, inner in value.items():
            inner_path = f"{path}.{name}".lstrip(".")
            if is_supported(shape, name, supported):
                yield from _unsupported(inner, shape.members[name], supported, inner_path)
            elif inner:
                yield inner_path
    elif isinstance(shape, ListShape) and isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _unsupported(inner, shape.member, supported, f"{path}[{number}]")
    elif isinstance(shape, MapShape) and isinstance(value, dict):
        for name, inner in value.items():
            yield from _unsupported(inner, shape.value, supported, f"{path}.{name}")
