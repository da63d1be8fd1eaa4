"""The members of requests that the local SageMaker supports; every other one is refused by name.

By service, and by the name of botocore's structure. Most of them have an effect. Those are only
kept and described:

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

_LIST = "MaxResults NameContains NextToken SortBy SortOrder"
_TARGET = "ResourceId ScalableDimension ServiceNamespace"
_PROJECT = (
    "artifacts cache description encryptionKey environment logsConfig name queuedTimeoutInMinutes "
    "secondarySources serviceRole source tags timeoutInMinutes"
)

SUPPORTED: dict[str, dict[str, str]] = {
    "sagemaker": {
        "AddTagsInput": "ResourceArn Tags",
        "Alarm": "AlarmName",
        "AutoRollbackConfig": "Alarms",
        "BlueGreenUpdatePolicy": "MaximumExecutionTimeoutInSeconds TerminationWaitInSeconds "
        "TrafficRoutingConfiguration",
        "CapacitySize": "Type Value",
        "CaptureContentTypeHeader": "CsvContentTypes JsonContentTypes",
        "CaptureOption": "CaptureMode",
        "ContainerDefinition": "ContainerHostname Environment Image ImageConfig Mode ModelDataUrl "
        "MultiModelConfig",
        "CreateEndpointConfigInput": "DataCaptureConfig EnableNetworkIsolation EndpointConfigName "
        "ExecutionRoleArn KmsKeyId MetricsConfig ProductionVariants Tags VpcConfig",
        "CreateEndpointInput": "DeploymentConfig EndpointConfigName EndpointName Tags",
        "CreateModelInput": "EnableNetworkIsolation ExecutionRoleArn ModelName "
        "PrimaryContainer Tags VpcConfig",
        "DataCaptureConfig": "CaptureContentTypeHeader CaptureOptions DestinationS3Uri "
        "EnableCapture InitialSamplingPercentage KmsKeyId",
        "DeleteEndpointConfigInput": "EndpointConfigName",
        "DeleteEndpointInput": "EndpointName",
        "DeleteModelInput": "ModelName",
        "DeleteTagsInput": "ResourceArn TagKeys",
        "DeploymentConfig": "AutoRollbackConfiguration BlueGreenUpdatePolicy RollingUpdatePolicy",
        "DescribeEndpointConfigInput": "EndpointConfigName",
        "DescribeEndpointInput": "EndpointName",
        "DescribeModelInput": "ModelName",
        "DesiredWeightAndCapacity": "DesiredInstanceCount DesiredWeight VariantName",
        "ImageConfig": "RepositoryAccessMode RepositoryAuthConfig",
        "InstancePool": "InstanceType ModelNameOverride Priority",
        "ListEndpointConfigsInput": _LIST,
        "ListEndpointsInput": f"{_LIST} StatusEquals",
        "ListModelsInput": _LIST,
        "ListTagsInput": "MaxResults NextToken ResourceArn",
        "MetricsConfig": "EnableDetailedObservability EnableEnhancedMetrics "
        "MetricPublishFrequencyInSeconds",
        "MultiModelConfig": "ModelCacheSetting",
        "ProductionVariant": "ContainerStartupHealthCheckTimeoutInSeconds InferenceAmiVersion "
        "InitialInstanceCount InitialVariantWeight InstancePools InstanceType "
        "ModelDataDownloadTimeoutInSeconds ModelName RoutingConfig "
        "VariantInstanceProvisionTimeoutInSeconds VariantName VolumeSizeInGB",
        "ProductionVariantRoutingConfig": "RoutingStrategy",
        "RepositoryAuthConfig": "RepositoryCredentialsProviderArn",
        "RollingUpdatePolicy": "MaximumBatchSize MaximumExecutionTimeoutInSeconds "
        "WaitIntervalInSeconds",
        "Tag": "Key Value",
        "TrafficRoutingConfig": "CanarySize LinearStepSize Type WaitIntervalInSeconds",
        "UpdateEndpointInput": "DeploymentConfig EndpointConfigName EndpointName "
        "ExcludeRetainedVariantProperties RetainAllVariantProperties",
        "UpdateEndpointWeightsAndCapacitiesInput": "DesiredWeightsAndCapacities EndpointName",
        "VariantProperty": "VariantPropertyType",
        "VpcConfig": "SecurityGroupIds Subnets",
    },
    "sagemaker-runtime": {
        "InvokeEndpointInput": "Accept Body ContentType CustomAttributes EndpointName InferenceId "
        "TargetModel TargetVariant",
    },
    "application-autoscaling": {
        "CustomizedMetricSpecification": "Dimensions MetricName Namespace Statistic Unit",
        "DeleteScalingPolicyRequest": f"{_TARGET} PolicyName",
        "DeleteScheduledActionRequest": f"{_TARGET} ScheduledActionName",
        "DeregisterScalableTargetRequest": _TARGET,
        "DescribeScalableTargetsRequest": "ResourceIds ScalableDimension ServiceNamespace",
        "DescribeScalingActivitiesRequest": _TARGET,
        "DescribeScalingPoliciesRequest": f"{_TARGET} PolicyNames",
        "DescribeScheduledActionsRequest": f"{_TARGET} ScheduledActionNames",
        "MetricDimension": "Name Value",
        "PredefinedMetricSpecification": "PredefinedMetricType",
        "PutScalingPolicyRequest": f"{_TARGET} PolicyName PolicyType "
        "TargetTrackingScalingPolicyConfiguration",
        "PutScheduledActionRequest": f"{_TARGET} ScalableTargetAction Schedule "
        "ScheduledActionName Timezone",
        "RegisterScalableTargetRequest": f"{_TARGET} MaxCapacity MinCapacity RoleARN Tags",
        "ScalableTargetAction": "MaxCapacity MinCapacity",
        "TargetTrackingScalingPolicyConfiguration": "CustomizedMetricSpecification "
        "PredefinedMetricSpecification ScaleInCooldown ScaleOutCooldown TargetValue",
    },
    "codebuild": {
        "BatchGetBuildsInput": "ids",
        "BatchGetProjectsInput": "names",
        "CloudWatchLogsConfig": "groupName status streamName",
        "CreateProjectInput": _PROJECT,
        "DeleteProjectInput": "name",
        "EnvironmentVariable": "name type value",
        "ListBuildsForProjectInput": "projectName",
        "ListBuildsInput": "",
        "LogsConfig": "cloudWatchLogs s3Logs",
        "ProjectArtifacts": "location name namespaceType packaging path type",
        "ProjectCache": "type",
        "ProjectEnvironment": "computeType environmentVariables image imagePullCredentialsType "
        "type",
        "ProjectSource": "buildspec location sourceIdentifier type",
        "S3LogsConfig": "status",
        "StartBuildInput": "artifactsOverride environmentVariablesOverride idempotencyToken "
        "imageOverride projectName secondarySourcesOverride",
        "StopBuildInput": "id",
        "Tag": "key value",
        "UpdateProjectInput": _PROJECT,
    },
    "service-quotas": {
        "ListAWSDefaultServiceQuotasRequest": "MaxResults NextToken ServiceCode",
        "ListServiceQuotasRequest": "MaxResults NextToken ServiceCode",
        "ListServicesRequest": "",
    },
    "ecr": {
        "BatchGetImageRequest": "acceptedMediaTypes imageIds registryId repositoryName",
        "ImageIdentifier": "imageDigest imageTag",
    },
}

_CODES = {
    "codebuild": "InvalidInputException",
    "ecr": "InvalidParameterException",
    "sagemaker-runtime": "ValidationError",
    "service-quotas": "IllegalArgumentException",
}


def refuse_unsupported(service: str, request: dict[str, Any], shape: Shape) -> None:
    """Raise `ApiError` with every member of a request that is not supported.

    The request has the types of the shape. A member that asks for nothing, as False or an empty
    list does, is let through: AWS CLI, Terraform and the CDK write such.
    """
    refuse(service, list(_unsupported(request, shape, SUPPORTED[service], "")))


def refuse(service: str, members: list[str]) -> None:
    """Raise `ApiError` with the names of members, if there are any."""
    if members:
        raise ApiError(
            _CODES.get(service, "ValidationException"),
            f"The local SageMaker does not support {', '.join(members)}: leave it out.",
        )


def _unsupported(value: Any, shape: Shape, supported: dict[str, str], path: str) -> Iterator[str]:
    if isinstance(shape, StructureShape):
        for name, inner in value.items():
            below = f"{path}.{name}".lstrip(".")
            if name in supported.get(shape.name, "").split():
                yield from _unsupported(inner, shape.members[name], supported, below)
            elif inner:
                yield below
    elif isinstance(shape, ListShape):
        for number, inner in enumerate(value):
            yield from _unsupported(inner, shape.member, supported, f"{path}[{number}]")
    elif isinstance(shape, MapShape):
        for name, inner in value.items():
            yield from _unsupported(inner, shape.value, supported, f"{path}.{name}")
