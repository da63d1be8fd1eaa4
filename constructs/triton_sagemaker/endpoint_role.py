"""The execution role of an endpoint's instances."""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from triton_sagemaker.allow import NO_RESOURCES, Conditions, allow, allow_image_pulls, stack_arn
from triton_sagemaker.data_capture import DataCapture
from triton_sagemaker.service_trust import trusted_service
from triton_sagemaker.variant import Variant
from triton_sagemaker.vpc_access import allow_vpc_access


class EndpointRole(Construct):
    """The execution role of an endpoint.

    The role may read the endpoint's archives, pull its images, and write logs and metrics. The
    arguments `vpc`, `volume_key` and `data_capture` add the permissions for these. Source: the
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
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=trusted_service("sagemaker.amazonaws.com", account=Stack.of(self).account),
            description=f"Instances of the endpoint {endpoint_name}",
        )
        self._allow_archives(variants)
        allow_image_pulls(self.role, images)
        self._allow_logs_and_metrics(endpoint_name, variants)
        if volume_key:
            self._allow_volume_encryption(volume_key)
        if data_capture:
            self._allow_data_capture(data_capture)
        if vpc:
            allow_vpc_access(self.role, vpc)

    def _allow_archives(self, variants: Sequence[Variant]) -> None:
        sources = [source for variant in variants for source in variant.sources.values()]
        for number, bucket in enumerate(dict.fromkeys(source.bucket for source in sources)):
            folders = {source.readable_prefix for source in sources if source.bucket is bucket}
            patterns = [f"{folder}*" for folder in sorted(folders)]
            suffix = str(number or "")
            allow(
                self.role,
                ["s3:GetObject"],
                [bucket.arn_for_objects(pattern) for pattern in patterns],
                "Archives below the endpoint's own prefix change with their content.",
                sid=f"ReadOwnArchives{suffix}",
            )
            allow(
                self.role,
                ["s3:ListBucket"],
                [bucket.bucket_arn],
                sid=f"ListOwnArchives{suffix}",
                conditions={"StringLike": {"s3:prefix": patterns}},
            )
            if key := bucket.encryption_key:
                allow(self.role, ["kms:Decrypt"], [key.key_arn], sid=f"DecryptArchives{suffix}")

    def _allow_logs_and_metrics(self, endpoint_name: str, variants: Sequence[Variant]) -> None:
        options = [variant.container.options.publish_metrics for variant in variants]
        published = [metrics for metrics in options if metrics]
        groups = {f"/aws/sagemaker/Endpoints/{endpoint_name}"}
        groups |= {metrics.log_group for metrics in published}
        groups |= {group for variant in variants for group in variant.hosting.log_groups}
        allow(
            self.role,
            ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
            [stack_arn(self, "logs", f"log-group:{group}:*") for group in sorted(groups)],
            "The log streams of the endpoint's own log groups.",
            sid="WriteOwnLogs",
        )
        if namespaces := sorted({metrics.namespace for metrics in published}):
            condition: Conditions = {"StringEquals": {"cloudwatch:namespace": namespaces}}
            self._allow_metrics("PublishTritonMetrics", condition)
        of_sagemaker = ["AWS/SageMaker*", "/aws/sagemaker/*"]
        condition = {"StringLike": {"cloudwatch:namespace": of_sagemaker}}
        self._allow_metrics("PublishInstanceMetrics", condition)
        allow(
            self.role,
            ["cloudwatch:DescribeAlarms"],
            [stack_arn(self, "cloudwatch", "alarm:*")],
            "CloudFormation completes the names of the rollback alarms.",
            sid="SeeRollbackAlarms",
        )

    def _allow_metrics(self, sid: str, namespace: Conditions) -> None:
        put = ["cloudwatch:PutMetricData"]
        allow(self.role, put, ["*"], NO_RESOURCES, sid=sid, conditions=namespace)

    def _allow_volume_encryption(self, key: kms.IKey) -> None:
        """Allow a grant of the key to EC2, for the volumes of the instances only.

        "The SageMaker execution role must have kms:CreateGrant permission in order to encrypt data
        on the storage volume of the endpoints" (API reference, RecommendationJobInputConfig,
        VolumeKmsKeyId, which is passed on to hosting). CreateEndpointConfig's KmsKeyId only states
        that the key policy must allow the role. Source of the condition: KMS developer guide,
        conditions-kms. No source was found for DescribeKey.
        """
        for_services: Conditions = {"Bool": {"kms:GrantIsForAWSResource": "true"}}
        create = ["kms:CreateGrant"]
        allow(self.role, create, [key.key_arn], sid="EncryptVolumes", conditions=for_services)
        allow(self.role, ["kms:DescribeKey"], [key.key_arn], sid="SeeVolumeKey")

    def _allow_data_capture(self, capture: DataCapture) -> None:
        """Allow the role to write captured requests, but not to read them.

        S3 requests a data key, and for multipart uploads also decrypts it (S3 user guide,
        UsingKMSEncryption). No document lists further permissions that SageMaker needs.
        """
        records = capture.bucket.arn_for_objects(f"{capture.prefix.strip('/')}/*")
        reason = "SageMaker names each record below the endpoint's own prefix."
        allow(self.role, ["s3:PutObject"], [records], reason, sid="WriteCaptured")
        if key := capture.bucket.encryption_key:
            actions = ["kms:Decrypt", "kms:GenerateDataKey"]
            allow(self.role, actions, [key.key_arn], sid="EncryptCaptured")
