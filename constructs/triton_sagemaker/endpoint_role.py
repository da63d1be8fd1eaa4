"""The execution role of an endpoint's instances."""

from collections.abc import Callable, Iterator, Sequence

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from triton_sagemaker.allow import NO_RESOURCES, StackArns, allow_image_pulls, allow_statement
from triton_sagemaker.data_capture import DataCapture
from triton_sagemaker.service_trust import trusted_service
from triton_sagemaker.triton_container import ContainerImage
from triton_sagemaker.variant import Variant
from triton_sagemaker.vpc_access import create_vpc_policy

Statements = Iterator[iam.PolicyStatement]

LOG_ACTIONS = (
    *("logs:CreateLogGroup", "logs:CreateLogStream"),
    *("logs:DescribeLogStreams", "logs:PutLogEvents"),
)
"""Actions on the endpoint's own log groups.

`EndpointLog` creates the groups. CreateLogGroup is allowed because it is not known whether
SageMaker's agent writes to an existing group if that call is denied: EC2 Image Builder wrote no
log then (aws/ec2-image-builder-roadmap#109).
"""


class EndpointRole(Construct):
    """The execution role of an endpoint: `role`, or a new one.

    The role may read the endpoint's archives, pull its images, and write logs and metrics. The
    arguments `vpc`, `volume_key` and `data_capture` add the permissions for these. Source: the
    permissions for CreateModel in the SageMaker developer guide (sagemaker-roles), without their
    wildcards.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        endpoint_name: str,
        variants: Sequence[Variant],
        images: Sequence[ContainerImage],
        vpc: ec2.IVpc | None = None,
        volume_key: kms.IKey | None = None,
        data_capture: DataCapture | None = None,
        role: iam.IRole | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._arns = StackArns(self)
        parent: Construct = self
        self.role: iam.IRole
        add: Callable[[iam.PolicyStatement], object]
        if role:
            self.role, add = role, role.add_to_principal_policy
        else:
            self.role = parent = own_role = iam.Role(
                self,
                "Role",
                assumed_by=trusted_service("sagemaker.amazonaws.com", account=self._arns.account),
                description=f"Instances of the endpoint {endpoint_name}",
            )
            add = own_role.add_to_policy  # one jsii call; reading a returned struct costs two more
        for statement in (
            *self._read_archives(variants),
            *allow_image_pulls(self, images, partition=self._arns.partition),
            *self._write_logs_and_metrics(endpoint_name, variants),
            *(self._encrypt_volumes(volume_key) if volume_key else ()),
            *(self._write_captured_data(data_capture) if data_capture else ()),
        ):
            if role:
                statement.sid = None  # other endpoints with this role have the same statements
            add(statement)
        if vpc:
            create_vpc_policy(self, self.role, vpc, self._arns, parent=parent)

    def _read_archives(self, variants: Sequence[Variant]) -> Statements:
        sources = [source for variant in variants for source in variant.sources.values()]
        for number, bucket in enumerate(dict.fromkeys(source.bucket for source in sources)):
            folders = {source.readable_prefix for source in sources if source.bucket is bucket}
            patterns = [f"{folder}*" for folder in sorted(folders)]
            suffix = str(number or "")
            yield allow_statement(
                self,
                ["s3:GetObject"],
                [bucket.arn_for_objects(pattern) for pattern in patterns],
                "Archives below the endpoint's own prefix change with their content.",
                sid=f"ReadOwnArchives{suffix}",
            )
            yield allow_statement(
                self,
                ["s3:ListBucket"],
                [bucket.bucket_arn],
                sid=f"ListOwnArchives{suffix}",
                conditions={"StringLike": {"s3:prefix": patterns}},
            )
            if key := bucket.encryption_key:
                sid = f"DecryptArchives{suffix}"
                yield allow_statement(self, ["kms:Decrypt"], [key.key_arn], sid=sid)

    def _write_logs_and_metrics(
        self, endpoint_name: str, variants: Sequence[Variant]
    ) -> Statements:
        options = [variant.container.options.publish_metrics for variant in variants]
        published = [metrics for metrics in options if metrics]
        groups = {f"/aws/sagemaker/Endpoints/{endpoint_name}"}
        groups |= {metrics.log_group for metrics in published}
        groups |= {group for variant in variants for group in variant.hosting.log_groups}
        yield allow_statement(
            self,
            LOG_ACTIONS,
            [self._arns.arn("logs", f"log-group:{group}:*") for group in sorted(groups)],
            "The endpoint's own log groups and their streams.",
            sid="WriteOwnLogs",
        )
        if namespaces := sorted({metrics.namespace for metrics in published}):
            yield self._put_metrics("PublishTritonMetrics", "StringEquals", namespaces)
        namespaces = ["AWS/SageMaker*", "/aws/sagemaker/*"]
        yield self._put_metrics("PublishInstanceMetrics", "StringLike", namespaces)
        yield allow_statement(
            self,
            ["cloudwatch:DescribeAlarms"],
            [self._arns.arn("cloudwatch", "alarm:*")],
            "CloudFormation completes the names of the rollback alarms.",
            sid="SeeRollbackAlarms",
        )

    def _put_metrics(self, sid: str, operator: str, namespaces: list[str]) -> iam.PolicyStatement:
        condition = {operator: {"cloudwatch:namespace": namespaces}}
        action = ["cloudwatch:PutMetricData"]
        return allow_statement(self, action, ["*"], NO_RESOURCES, sid=sid, conditions=condition)

    def _encrypt_volumes(self, key: kms.IKey) -> Statements:
        """Yield statements that allow a grant of the key to EC2, for volumes of instances only.

        "The SageMaker execution role must have kms:CreateGrant permission in order to encrypt data
        on the storage volume of the endpoints" (API reference, RecommendationJobInputConfig,
        VolumeKmsKeyId, which is passed on to hosting). CreateEndpointConfig's KmsKeyId only states
        that the key policy must allow the role. Source of the condition: KMS developer guide,
        conditions-kms. No source was found for DescribeKey.
        """
        yield allow_statement(
            self,
            ["kms:CreateGrant"],
            [key.key_arn],
            sid="EncryptVolumes",
            conditions={"Bool": {"kms:GrantIsForAWSResource": "true"}},
        )
        yield allow_statement(self, ["kms:DescribeKey"], [key.key_arn], sid="SeeVolumeKey")

    def _write_captured_data(self, capture: DataCapture) -> Statements:
        """Yield statements that allow writing captured requests, but not reading them.

        S3 requests a data key, and for multipart uploads also decrypts it (S3 user guide,
        UsingKMSEncryption). No document lists further permissions that SageMaker needs.
        """
        records = capture.bucket.arn_for_objects(f"{capture.prefix.strip('/')}/*")
        reason = "SageMaker names each record below the endpoint's own prefix."
        yield allow_statement(self, ["s3:PutObject"], [records], reason, sid="WriteCaptured")
        if key := capture.bucket.encryption_key:
            actions = ["kms:Decrypt", "kms:GenerateDataKey"]
            yield allow_statement(self, actions, [key.key_arn], sid="EncryptCaptured")
