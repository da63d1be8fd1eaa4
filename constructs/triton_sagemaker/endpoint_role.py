"""What an endpoint's instances may do."""

from collections.abc import Iterator, Mapping, Sequence

from aws_cdk import Stack, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from triton_sagemaker.data_capture import DataCapture
from triton_sagemaker.nag import acknowledge_wildcards
from triton_sagemaker.service_trust import trusted_service
from triton_sagemaker.variant import Variant

NO_RESOURCES = "Registry tokens, metrics and descriptions of networks know no resources."
"""Why their statements are on every resource; conditions narrow what can be narrowed."""


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
        stack = Stack.of(self)
        account = stack.account
        self._partition, self._place = stack.partition, f"{stack.region}:{account}"
        self._wildcards = dict[str, list[str]]()
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=trusted_service("sagemaker.amazonaws.com", account=account),
            description=f"Instances of the endpoint {endpoint_name}",
        )
        for statement in (
            *self._read_archives(variants),
            *self._pull_images(images),
            *self._write_logs(endpoint_name, variants),
            *self._publish_metrics(),
            *self._see_rollback_alarms(),
            *(self._encrypt_volumes(volume_key) if volume_key else ()),
            *(self._write_captured(data_capture) if data_capture else ()),
        ):
            self.role.add_to_policy(statement)
        if vpc:
            self._attach_to_vpc(vpc)
        acknowledge_wildcards(self, self._wildcards)

    def _read_archives(self, variants: Sequence[Variant]) -> Iterator[iam.PolicyStatement]:
        buckets = dict.fromkeys(it.hosting.bucket for it in variants)
        for number, bucket in enumerate(buckets):
            prefixes = sorted({
                it.hosting.readable for it in variants if it.hosting.bucket is bucket
            })  # fmt: skip
            suffix = str(number or "")
            yield self._statement(
                f"ReadOwnArchives{suffix}",
                ["s3:GetObject"],
                [bucket.arn_for_objects(f"{prefix}*") for prefix in prefixes],
                wildcards="Archives below the endpoint's own prefix change with their content.",
            )
            yield self._statement(
                f"ListOwnArchives{suffix}",
                ["s3:ListBucket"],
                [bucket.bucket_arn],
                {"StringLike": {"s3:prefix": [f"{prefix}*" for prefix in prefixes]}},
            )
            if key := bucket.encryption_key:
                yield self._statement(f"DecryptArchives{suffix}", ["kms:Decrypt"], [key.key_arn])

    def _pull_images(self, images: Sequence[str]) -> Iterator[iam.PolicyStatement]:
        repositories = sorted({_repository(image) for image in images if image})
        yield self._statement(
            "PullImages",
            ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
            [f"arn:{self._partition}:ecr:{it}" for it in repositories],
        )
        # A token for the registry as a whole: there is no resource to name.
        yield self._statement(
            "LogInToRegistries", ["ecr:GetAuthorizationToken"], ["*"], wildcards=NO_RESOURCES
        )

    def _write_logs(
        self, endpoint_name: str, variants: Sequence[Variant]
    ) -> Iterator[iam.PolicyStatement]:
        options = [variant.container.options.publish_metrics for variant in variants]
        published = [metrics for metrics in options if metrics]
        groups = {f"/aws/sagemaker/Endpoints/{endpoint_name}"} | {
            metrics.log_group for metrics in published
        }
        yield self._statement(
            "WriteOwnLogs",
            ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
            [self._arn("logs", f"log-group:{group}:*") for group in sorted(groups)],
            wildcards="The log streams of the endpoint's own log groups.",
        )
        namespaces = sorted({metrics.namespace for metrics in published})
        if namespaces:
            yield self._statement(
                "PublishTritonMetrics",
                ["cloudwatch:PutMetricData"],
                ["*"],
                {"StringEquals": {"cloudwatch:namespace": namespaces}},
                wildcards=NO_RESOURCES,
            )

    def _publish_metrics(self) -> Iterator[iam.PolicyStatement]:
        # CloudWatch has no resources for metrics: the namespace narrows it.
        yield self._statement(
            "PublishInstanceMetrics",
            ["cloudwatch:PutMetricData"],
            ["*"],
            {"StringLike": {"cloudwatch:namespace": ["AWS/SageMaker*", "/aws/sagemaker/*"]}},
            wildcards=NO_RESOURCES,
        )

    def _see_rollback_alarms(self) -> Iterator[iam.PolicyStatement]:
        alarms = self._arn("cloudwatch", "alarm:*")
        reason = "CloudFormation completes the names of the rollback alarms."
        yield self._statement(
            "SeeRollbackAlarms", ["cloudwatch:DescribeAlarms"], [alarms], wildcards=reason
        )

    def _attach_to_vpc(self, vpc: ec2.IVpc) -> None:
        """Let SageMaker make and delete the instances' network interfaces in their VPC alone.

        By a policy of its own for each VPC, which an endpoint that leaves the VPC loses after the
        update: of the role's other policy it would before, and the interfaces would stay (as
        aws-cdk#34400).

        Of CreateNetworkInterface, the interface knows no `ec2:Vpc`, and its subnet and groups do;
        of the other actions, the interface does (service authorization reference, Amazon EC2).
        """
        vpc_id = vpc.vpc_id
        interfaces = self._arn("ec2", "network-interface/*")
        in_vpc = {"ArnEquals": {"ec2:Vpc": self._arn("ec2", f"vpc/{vpc_id}")}}
        places = [self._arn("ec2", f"{kind}/*") for kind in ("security-group", "subnet")]
        reason = "SageMaker makes and removes network interfaces, whose IDs are not known before."
        statements = [
            # EC2's Describe calls know no resources.
            self._statement(
                "SeeNetwork",
                [
                    *("ec2:DescribeDhcpOptions", "ec2:DescribeNetworkInterfaces"),
                    *("ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs"),
                ],
                ["*"],
                wildcards=NO_RESOURCES,
            ),
            self._statement(
                "CreateInterfaces", ["ec2:CreateNetworkInterface"], [interfaces], wildcards=reason
            ),
            self._statement(
                "AttachToVpc", ["ec2:CreateNetworkInterface"], places, in_vpc, wildcards=reason
            ),
            self._statement(
                "OwnInterfaces",
                [
                    "ec2:CreateNetworkInterfacePermission",
                    *("ec2:DeleteNetworkInterface", "ec2:DeleteNetworkInterfacePermission"),
                ],
                [interfaces],
                in_vpc,
                wildcards=reason,
            ),
        ]
        name = vpc.node.addr if Token.is_unresolved(vpc_id) else vpc_id
        iam.Policy(self.role, f"VpcPolicy-{name}", roles=[self.role], statements=statements)

    def _encrypt_volumes(self, key: kms.IKey) -> Iterator[iam.PolicyStatement]:
        """Let EC2 use the key for the instances' volumes, by a grant, and for nothing else.

        "The SageMaker execution role must have kms:CreateGrant permission in order to encrypt data
        on the storage volume of the endpoints" (API reference, RecommendationJobInputConfig,
        VolumeKmsKeyId, which is passed on to hosting); of KmsKeyId, that of CreateEndpointConfig
        says only that the key's policy must let the role in. The condition is that of the KMS
        developer guide, conditions-kms. For DescribeKey no source was found.
        """
        yield self._statement(
            "EncryptVolumes",
            ["kms:CreateGrant"],
            [key.key_arn],
            {"Bool": {"kms:GrantIsForAWSResource": "true"}},
        )
        yield self._statement("SeeVolumeKey", ["kms:DescribeKey"], [key.key_arn])

    def _write_captured(self, capture: DataCapture) -> Iterator[iam.PolicyStatement]:
        """Let recorded requests be written, and nothing be read.

        S3 asks the key for a data key, and of uploads in parts also to decrypt it (S3 user guide,
        UsingKMSEncryption). What else SageMaker would ask of the bucket, no document says.
        """
        objects = capture.bucket.arn_for_objects(f"{capture.prefix.strip('/')}/*")
        reason = "SageMaker names each record below the endpoint's own prefix."
        yield self._statement("WriteCaptured", ["s3:PutObject"], [objects], wildcards=reason)
        if capture.encryption_key:
            yield self._statement(
                "EncryptCaptured",
                ["kms:Decrypt", "kms:GenerateDataKey"],
                [capture.encryption_key.key_arn],
            )

    def _arn(self, service: str, resource: str) -> str:
        return f"arn:{self._partition}:{service}:{self._place}:{resource}"

    def _statement(
        self,
        sid: str,
        actions: Sequence[str],
        resources: Sequence[str],
        conditions: Mapping[str, object] | None = None,
        *,
        wildcards: str | None = None,
    ) -> iam.PolicyStatement:
        """Allow actions on resources; `wildcards` is why these have some."""
        if wildcards:
            self._wildcards.setdefault(wildcards, []).extend(resources)
        return iam.PolicyStatement(
            sid=sid, actions=list(actions), resources=list(resources), conditions=conditions
        )


def _repository(image: str) -> str:
    """Return `region:account:repository/name` of an ECR image URI."""
    registry, _, rest = image.partition("/")
    account, _, _, region = registry.split(".")[:4]
    return f"{region}:{account}:repository/{rest.partition(':')[0]}"
