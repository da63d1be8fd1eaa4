"""A CodeBuild project whose role has no permissions that the CDK adds by default."""

from collections.abc import Mapping

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from triton_sagemaker.allow import allow
from triton_sagemaker.nag import acknowledge
from triton_sagemaker.service_trust import trusted_service

_PRIVILEGED_OVERRIDES = (
    "encryptionKey",
    "environment.computeType",
    "environment.fleet.fleetArn",
    "environment.privilegedMode",
    "environment.type",
    "serviceRole",
    "source.buildspec",
    "source.location",
)


def denied_overrides(*others: str) -> dict[str, str]:
    """Return the condition `Null` of StartBuild without overrides of a project's settings.

    With the overrides, a caller could run any code with the project's role. Sources: AWS CodeBuild
    condition keys (codebuild/latest/userguide/action-context-keys.html); the service authorization
    reference lists them for StartBuild.
    """
    return {f"codebuild:{key}": "true" for key in sorted((*_PRIVILEGED_OVERRIDES, *others))}


class BuildProject(Construct):
    """A CodeBuild project with its own role and log group; `source` is its primary source.

    The `role` may read `source`, write the log and use `key`. Source of these permissions:
    CodeBuild user guide, "Allow CodeBuild to interact with other AWS services".
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        description: str,
        source: s3_assets.Asset,
        buildspec: codebuild.BuildSpec,
        image: str,
        compute_type: codebuild.ComputeType,
        key: kms.IKey,
        queue_timeout: Duration,
        timeout: Duration,
        variables: Mapping[str, str],
    ) -> None:
        super().__init__(scope, construct_id)
        self.log = create_log_group(self, "Log")
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=trusted_service("codebuild.amazonaws.com", account=Stack.of(self).account),
        )
        allow(
            self.role,
            ["s3:GetObject", "s3:GetObjectVersion"],
            [source.bucket.arn_for_objects(source.s3_object_key)],
        )
        allow(self.role, ["s3:GetBucketAcl", "s3:GetBucketLocation"], [source.bucket.bucket_arn])
        self.log.grant_write(self.role)
        key.grant_encrypt_decrypt(self.role)
        reason = "What the CDK grants to encrypt with this one key."
        acknowledge(
            self, reason, "IAM5[Action::kms:GenerateDataKey*]", "IAM5[Action::kms:ReEncrypt*]"
        )
        self.project = codebuild.Project(
            self,
            "Resource",
            auto_retry_limit=0,
            build_spec=buildspec,
            description=description,
            encryption_key=key,
            environment=codebuild.BuildEnvironment(
                build_image=codebuild.LinuxBuildImage.from_docker_registry(image),
                compute_type=compute_type,
                environment_variables={
                    name: codebuild.BuildEnvironmentVariable(value=value)
                    for name, value in variables.items()
                },
            ),
            logging=codebuild.LoggingOptions(
                cloud_watch=codebuild.CloudWatchLoggingOptions(log_group=self.log)
            ),
            queued_timeout=queue_timeout,
            role=self.role.without_policy_updates(),
            source=codebuild.Source.s3(bucket=source.bucket, path=source.s3_object_key),
            timeout=timeout,
        )
        # CodeBuild's managed images have neither the models' Python version nor TensorRT.
        acknowledge(self.project, "Builds need an image for their task.", "CB5")


def create_log_group(scope: Construct, construct_id: str) -> logs.LogGroup:
    """Return a log group with three months of retention, which is deleted with the stack."""
    return logs.LogGroup(
        scope,
        construct_id,
        removal_policy=RemovalPolicy.DESTROY,
        retention=logs.RetentionDays.THREE_MONTHS,
    )
