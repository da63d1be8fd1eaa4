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
    """The execution role of an endpoint.

    It may read the endpoint's archives, pull its images, and write logs and metrics; with the
    arguments `vpc`, `volume_key` and `data_capture`, it has the permissions for these. Source: the
    permissions for CreateModel in the SageMaker developer guide (sagemaker-roles), without their
    wildcards, and without logs:CreateLogGroup (see `EndpointLog`).
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
        readable = {source.readable for source in sources if source.bucket is bucket}
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
    # The token is for all registries: the action supports no resources.
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
    # PutMetricData supports no resources: a condition restricts the namespace.
    put = ["cloudwatch:PutMetricData"]
    if namespaces := sorted({metrics.namespace for metrics in published}):
        of_triton = {"StringEquals": {"cloudwatch:namespace": namespaces}}
        yield role.allow("PublishTritonMetrics", put, ["*"], of_triton, wildcards=NO_RESOURCES)
    of_instances = {"StringLike": {"cloudwatch:namespace": ["AWS/SageMaker*", "/aws/sagemaker/*"]}}
    yield role.allow("PublishInstanceMetrics", put, ["*"], of_instances, wildcards=NO_RESOURCES)
    yield role.allow(
        "SeeRollbackAlarms",
        ["cloudwatch:DescribeAlarms"],
        [role.arn("cloudwatch", "alarm:*")],
        wildcards="CloudFormation completes the names of the rollback alarms.",
    )


def _encrypt_volumes(role: RoleStatements, key: kms.IKey) -> Statements:
    """Allow a grant of the key to EC2, for the volumes of the instances only.

    "The SageMaker execution role must have kms:CreateGrant permission in order to encrypt data on
    the storage volume of the endpoints" (API reference, RecommendationJobInputConfig,
    VolumeKmsKeyId, which is passed on to hosting). CreateEndpointConfig's KmsKeyId only states that
    the key policy must allow the role. Source of the condition: KMS developer guide,
    conditions-kms. No source was found for DescribeKey.
    """
    for_aws = {"Bool": {"kms:GrantIsForAWSResource": "true"}}
    yield role.allow("EncryptVolumes", ["kms:CreateGrant"], [key.key_arn], for_aws)
    yield role.allow("SeeVolumeKey", ["kms:DescribeKey"], [key.key_arn])


def _write_captured(role: RoleStatements, capture: DataCapture) -> Statements:
    """Allow writing captured requests, and no reading.

    S3 requests a data key, and for multipart uploads also decrypts it (S3 user guide,
    UsingKMSEncryption). No document lists further permissions that SageMaker needs.
    """
    objects = capture.bucket.arn_for_objects(f"{capture.prefix.strip('/')}/*")
    reason = "SageMaker names each record below the endpoint's own prefix."
    yield role.allow("WriteCaptured", ["s3:PutObject"], [objects], wildcards=reason)
    if key := capture.bucket.encryption_key:
        yield role.allow("EncryptCaptured", ["kms:Decrypt", "kms:GenerateDataKey"], [key.key_arn])
