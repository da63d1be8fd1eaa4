"""The execution role of an endpoint's instances."""

from collections.abc import Iterator, Sequence

from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from triton_sagemaker.data_capture import DataCapture
from triton_sagemaker.nag import acknowledge_wildcards
from triton_sagemaker.role_statements import NO_RESOURCES, RoleStatements
from triton_sagemaker.service_trust import trusted_service
from triton_sagemaker.variant import Variant
from triton_sagemaker.vpc_access import attach_to_vpc

Statements = Iterator[iam.PolicyStatement]


class EndpointRole(Construct):
    """The execution role of an endpoint: read archives, pull images, write logs and metrics.

    A VPC, a volume key and data capture add permissions. Source: SageMaker developer guide,
    sagemaker-roles, permissions for CreateModel, but without its wildcards and without
    logs:CreateLogGroup (see `EndpointLog`).
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
        role = RoleStatements(Stack.of(self))
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=trusted_service("sagemaker.amazonaws.com", account=role.account),
            description=f"Instances of the endpoint {endpoint_name}",
        )
        for statement in (
            *_read_archives(role, variants),
            *_pull_images(role, images),
            *_write_logs_and_metrics(role, endpoint_name, variants),
            *(_encrypt_volumes(role, volume_key) if volume_key else ()),
            *(_write_captured(role, data_capture) if data_capture else ()),
        ):
            self.role.add_to_policy(statement)
        if vpc:
            attach_to_vpc(self.role, vpc, role)
        acknowledge_wildcards(self, role.wildcards)


def _read_archives(role: RoleStatements, variants: Sequence[Variant]) -> Statements:
    sources = [source for variant in variants for source in variant.sources.values()]
    for number, bucket in enumerate(dict.fromkeys(source.bucket for source in sources)):
        readable = {source.readable_prefix for source in sources if source.bucket is bucket}
        prefixes = [f"{prefix}*" for prefix in sorted(readable)]
        suffix = str(number or "")
        yield role.allow(
            f"ReadOwnArchives{suffix}",
            ["s3:GetObject"],
            [bucket.arn_for_objects(prefix) for prefix in prefixes],
            wildcards="Archives below the endpoint's own prefix change with their content.",
        )
        yield role.allow(
            f"ListOwnArchives{suffix}",
            ["s3:ListBucket"],
            [bucket.bucket_arn],
            {"StringLike": {"s3:prefix": prefixes}},
        )
        if key := bucket.encryption_key:
            yield role.allow(f"DecryptArchives{suffix}", ["kms:Decrypt"], [key.key_arn])


def _pull_images(role: RoleStatements, images: Sequence[str]) -> Statements:
    repositories = set[str]()
    for image in images:  # account.dkr.ecr.region.suffix/name:tag
        registry, _, name = image.partition("/")
        account, _, _, region = registry.split(".")[:4]
        name = name.partition(":")[0]
        repositories.add(role.arn("ecr", f"repository/{name}", f"{region}:{account}"))
    yield role.allow(
        "PullImages",
        ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
        sorted(repositories),
    )
    # The token is for all repositories: the action supports no resources.
    yield role.allow(
        "LogInToRegistries", ["ecr:GetAuthorizationToken"], ["*"], wildcards=NO_RESOURCES
    )


def _write_logs_and_metrics(
    role: RoleStatements, endpoint_name: str, variants: Sequence[Variant]
) -> Statements:
    options = [variant.container.options.publish_metrics for variant in variants]
    published = [metrics for metrics in options if metrics]
    groups = {f"/aws/sagemaker/Endpoints/{endpoint_name}"}
    groups |= {metrics.log_group for metrics in published}
    groups |= {group for variant in variants for group in variant.hosting.log_groups}
    yield role.allow(
        "WriteOwnLogs",
        ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
        [role.arn("logs", f"log-group:{group}:*") for group in sorted(groups)],
        wildcards="The log streams of the endpoint's own log groups.",
    )
    # PutMetricData supports no resources: the condition limits the namespace.
    put = ["cloudwatch:PutMetricData"]
    if namespaces := sorted({metrics.namespace for metrics in published}):
        triton_namespaces = {"StringEquals": {"cloudwatch:namespace": namespaces}}
        yield role.allow(
            "PublishTritonMetrics", put, ["*"], triton_namespaces, wildcards=NO_RESOURCES
        )
    sagemaker = {"StringLike": {"cloudwatch:namespace": ["AWS/SageMaker*", "/aws/sagemaker/*"]}}
    yield role.allow("PublishInstanceMetrics", put, ["*"], sagemaker, wildcards=NO_RESOURCES)
    yield role.allow(
        "SeeRollbackAlarms",
        ["cloudwatch:DescribeAlarms"],
        [role.arn("cloudwatch", "alarm:*")],
        wildcards="CloudFormation completes the names of the rollback alarms.",
    )


def _encrypt_volumes(role: RoleStatements, key: kms.IKey) -> Statements:
    """Allow grants on the key to AWS services, for the encryption of the instances' volumes.

    "The SageMaker execution role must have kms:CreateGrant permission in order to encrypt data on
    the storage volume of the endpoints" (API reference, RecommendationJobInputConfig,
    VolumeKmsKeyId, which is passed on to hosting). CreateEndpointConfig, KmsKeyId, only requires
    that the key policy allows the role. Source of the condition: KMS developer guide,
    conditions-kms. There is no source for DescribeKey.
    """
    aws_grants = {"Bool": {"kms:GrantIsForAWSResource": "true"}}
    yield role.allow("EncryptVolumes", ["kms:CreateGrant"], [key.key_arn], aws_grants)
    yield role.allow("SeeVolumeKey", ["kms:DescribeKey"], [key.key_arn])


def _write_captured(role: RoleStatements, capture: DataCapture) -> Statements:
    """Allow to write captured requests, but not to read them.

    S3 needs kms:GenerateDataKey, and kms:Decrypt for multipart uploads (S3 user guide,
    UsingKMSEncryption). No document lists the S3 permissions that data capture needs.
    """
    objects = capture.bucket.arn_for_objects(f"{capture.prefix.strip('/')}/*")
    reason = "SageMaker names each record below the endpoint's own prefix."
    yield role.allow("WriteCaptured", ["s3:PutObject"], [objects], wildcards=reason)
    if key := capture.bucket.encryption_key:
        yield role.allow("EncryptCaptured", ["kms:Decrypt", "kms:GenerateDataKey"], [key.key_arn])
