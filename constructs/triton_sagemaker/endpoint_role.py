"""The execution role of an endpoint's instances."""

from collections.abc import Sequence

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from triton_sagemaker.allow import NO_RESOURCES, PULL, allow
from triton_sagemaker.data_capture import DataCapture
from triton_sagemaker.service_trust import trusted_service
from triton_sagemaker.variant import Variant
from triton_sagemaker.vpc_access import attach_to_vpc


class EndpointRole(Construct):
    """The execution role of an endpoint: read its archives, pull its images, log; more if used.

    Source: the permissions for CreateModel in the SageMaker developer guide (sagemaker-roles),
    without its wildcards, and without logs:CreateLogGroup, for which see `EndpointLog`.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        endpoint_name: str,
        variants: Sequence[Variant],
        images: Sequence[str],
        vpc: ec2.IVpc | None = None,
        volume_key: kms.IKey | None = None,
        data_capture: DataCapture | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.role = role = iam.Role(
            self,
            "Role",
            assumed_by=trusted_service("sagemaker.amazonaws.com", account=Stack.of(self).account),
            description=f"Instances of the endpoint {endpoint_name}",
        )
        _read_archives(role, variants)
        _pull_images(role, images)
        _write_logs_and_metrics(role, endpoint_name, variants)
        if volume_key:
            _encrypt_volumes(role, volume_key)
        if data_capture:
            _write_captured(role, data_capture)
        if vpc:
            attach_to_vpc(role, vpc)


def _read_archives(role: iam.Role, variants: Sequence[Variant]) -> None:
    hostings = [hosting for variant in variants for hosting in variant.hostings]
    for number, bucket in enumerate(dict.fromkeys(hosting.bucket for hosting in hostings)):
        readable = {hosting.readable for hosting in hostings if hosting.bucket is bucket}
        prefixes = [f"{prefix}*" for prefix in sorted(readable)]
        suffix = str(number or "")
        archives = [bucket.arn_for_objects(prefix) for prefix in prefixes]
        reason = "Archives below the endpoint's own prefix change with their content."
        below = {"StringLike": {"s3:prefix": prefixes}}
        allow(role, ["s3:GetObject"], archives, reason, sid=f"ReadOwnArchives{suffix}")
        allow(
            role,
            ["s3:ListBucket"],
            [bucket.bucket_arn],
            conditions=below,
            sid=f"ListOwnArchives{suffix}",
        )
        if key := bucket.encryption_key:
            allow(role, ["kms:Decrypt"], [key.key_arn], sid=f"DecryptArchives{suffix}")


def _pull_images(role: iam.Role, images: Sequence[str]) -> None:
    repositories = set[str]()
    for image in images:  # account.dkr.ecr.region.suffix/name:tag
        registry, _, name = image.partition("/")
        account, _, _, region = registry.split(".")[:4]
        name = name.partition(":")[0]
        repositories.add(
            Stack.of(role).format_arn(
                service="ecr",
                region=region,
                account=account,
                resource="repository",
                resource_name=name,
            )
        )
    allow(role, PULL, sorted(repositories), sid="PullImages")
    # A token for the registry as a whole: there is no resource to name.
    token = ["ecr:GetAuthorizationToken"]
    allow(role, token, ["*"], NO_RESOURCES, sid="LogInToRegistries")


def _write_logs_and_metrics(
    role: iam.Role, endpoint_name: str, variants: Sequence[Variant]
) -> None:
    options = [variant.container.options.publish_metrics for variant in variants]
    published = [metrics for metrics in options if metrics]
    groups = {f"/aws/sagemaker/Endpoints/{endpoint_name}"} | {
        metrics.log_group for metrics in published
    }
    streams = [_arn(role, "logs", f"log-group:{group}:*") for group in sorted(groups)]
    write = ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
    reason = "The log streams of the endpoint's own log groups."
    allow(role, write, streams, reason, sid="WriteOwnLogs")
    # CloudWatch has no resources for metrics: the namespace narrows it.
    put = ["cloudwatch:PutMetricData"]
    if namespaces := sorted({metrics.namespace for metrics in published}):
        only = {"StringEquals": {"cloudwatch:namespace": namespaces}}
        allow(role, put, ["*"], NO_RESOURCES, conditions=only, sid="PublishTritonMetrics")
    of_instances = {"StringLike": {"cloudwatch:namespace": ["AWS/SageMaker*", "/aws/sagemaker/*"]}}
    allow(role, put, ["*"], NO_RESOURCES, conditions=of_instances, sid="PublishInstanceMetrics")
    alarms = [_arn(role, "cloudwatch", "alarm:*")]
    reason = "CloudFormation completes the names of the rollback alarms."
    allow(role, ["cloudwatch:DescribeAlarms"], alarms, reason, sid="SeeRollbackAlarms")


def _encrypt_volumes(role: iam.Role, key: kms.IKey) -> None:
    """Let EC2 use the key for the instances' volumes, by a grant, and for nothing else.

    "The SageMaker execution role must have kms:CreateGrant permission in order to encrypt data on
    the storage volume of the endpoints" (API reference, RecommendationJobInputConfig,
    VolumeKmsKeyId, which is passed on to hosting); of KmsKeyId, that of CreateEndpointConfig says
    only that the key's policy must let the role in. The condition is that of the KMS developer
    guide, conditions-kms. For DescribeKey no source was found.
    """
    for_aws = {"Bool": {"kms:GrantIsForAWSResource": "true"}}
    grant = ["kms:CreateGrant"]
    allow(role, grant, [key.key_arn], conditions=for_aws, sid="EncryptVolumes")
    allow(role, ["kms:DescribeKey"], [key.key_arn], sid="SeeVolumeKey")


def _write_captured(role: iam.Role, capture: DataCapture) -> None:
    """Let recorded requests be written, and nothing be read.

    S3 asks the key for a data key, and of uploads in parts also to decrypt it (S3 user guide,
    UsingKMSEncryption). What else SageMaker would ask of the bucket, no document says.
    """
    objects = capture.bucket.arn_for_objects(f"{capture.prefix.strip('/')}/*")
    reason = "SageMaker names each record below the endpoint's own prefix."
    allow(role, ["s3:PutObject"], [objects], reason, sid="WriteCaptured")
    if key := capture.bucket.encryption_key:
        encrypt = ["kms:Decrypt", "kms:GenerateDataKey"]
        allow(role, encrypt, [key.key_arn], sid="EncryptCaptured")


def _arn(role: iam.Role, service: str, resource: str) -> str:
    return Stack.of(role).format_arn(
        service=service, resource=resource, arn_format=ArnFormat.NO_RESOURCE_NAME
    )
