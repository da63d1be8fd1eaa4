"""Builds model archives in CodeBuild while a stack is deployed."""

from dataclasses import dataclass
from pathlib import Path

from aws_cdk import Duration, RemovalPolicy, custom_resources
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

import platform_facts
from triton_sagemaker.built_model import BuiltModel
from triton_sagemaker.model_bucket import ModelBucket

HANDLER = Path(__file__).parent / "build_handler"


@dataclass(frozen=True, kw_only=True)
class BuildEnvironment:
    """The machine on which a model is built.

    `image` is a container image URI, `environment_type` and `compute_type` are CodeBuild's
    (`LINUX_GPU_CONTAINER`, `BUILD_GENERAL1_SMALL`). `requirements` is the file of Python packages
    that the build installs in it. `compute_capability` is its GPU's, None without one.
    """

    image: str
    environment_type: str
    compute_type: str
    requirements: str
    compute_capability: platform_facts.ComputeCapability | None

    @classmethod
    def cpu(cls) -> "BuildEnvironment":
        """Python 3.11 on 4 vCPUs, for archives that need no GPU to build."""
        return cls(
            image="public.ecr.aws/docker/library/python:3.11-bookworm",
            environment_type="LINUX_CONTAINER",
            compute_type="BUILD_GENERAL1_MEDIUM",
            requirements="requirements.txt",
            compute_capability=None,
        )

    @classmethod
    def gpu(cls, *, ngc_tag: str) -> "BuildEnvironment":
        """One A10G (CodeBuild's GPU SMALL; its LARGE has V100s, which TensorRT 10.5 on refuses).

        `ngc_tag` is the tag of the NGC PyTorch image whose TensorRT is the serving release's.
        """
        return cls(
            image=f"nvcr.io/nvidia/pytorch:{ngc_tag}",
            environment_type="LINUX_GPU_CONTAINER",
            compute_type="BUILD_GENERAL1_SMALL",
            requirements="requirements-gpu.txt",
            compute_capability=platform_facts.gpu("A10G").compute_capability,
        )


class ModelBuilder(Construct):
    """A CodeBuild project and the custom-resource provider that runs it, one build a model.

    `source` is what CodeBuild unpacks as its primary source, `buildspec` builds one model from it.
    The build sees the model's folder in `CODEBUILD_SRC_DIR_model`, and what to make of it in
    `MODEL_NAME`, `MODEL_ALTERNATIVE` (unless it is empty), `MODEL_DIGEST`, `MODEL_TARGET`,
    `MODEL_BUCKET`, `MODEL_KEY` (the archive's key) and `BUILD_REQUIREMENTS`; it must write the
    archive's manifest, `MODEL_KEY` with `.json` for `.tar.gz`, when all else is done.

    The project never changes with a model: source, image and machine of each build come from its
    `BuiltModel`.
    """

    BUILD_TIMEOUT = Duration.minutes(40)
    QUEUE_TIMEOUT = Duration.minutes(10)
    TOTAL_TIMEOUT = Duration.minutes(55)  # CloudFormation gives a custom resource one hour

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        bucket: ModelBucket,
        source: s3_assets.Asset,
        buildspec: codebuild.BuildSpec,
    ) -> None:
        super().__init__(scope, construct_id)
        self.bucket = bucket
        self.project = self._project(source, buildspec)
        self.provider = self._provider()

    def build(
        self,
        scope: Construct,
        construct_id: str,
        *,
        model: str,
        alternative: str,
        digest: str,
        target: str,
        key: str,
        source: s3_assets.Asset,
        environment: BuildEnvironment,
    ) -> BuiltModel:
        """Declare that the archive `key` of one model exists; see `BuiltModel`.

        `alternative` is which of the models that its source offers is meant, empty for the one.
        """
        return BuiltModel(
            scope,
            construct_id,
            service_token=self.provider.service_token,
            properties={
                "Model": model,
                "Alternative": alternative,
                "Digest": digest,
                "Target": target,
                "Bucket": self.bucket.bucket.bucket_name,
                "Key": key,
                "Source": f"{source.s3_bucket_name}/{source.s3_object_key}",
                "Image": environment.image,
                "EnvironmentType": environment.environment_type,
                "ComputeType": environment.compute_type,
                "Requirements": environment.requirements,
            },
        )

    def _project(
        self, source: s3_assets.Asset, buildspec: codebuild.BuildSpec
    ) -> codebuild.Project:
        default = BuildEnvironment.cpu()
        project = codebuild.Project(
            self,
            "Project",
            description="Builds one Triton model archive",
            build_spec=buildspec,
            encryption_key=self.bucket.key,
            environment=codebuild.BuildEnvironment(
                build_image=codebuild.LinuxBuildImage.from_docker_registry(default.image),
                compute_type=codebuild.ComputeType.MEDIUM,
            ),
            logging=codebuild.LoggingOptions(
                cloud_watch=codebuild.CloudWatchLoggingOptions(log_group=self._log_group("Log"))
            ),
            queued_timeout=self.QUEUE_TIMEOUT,
            source=codebuild.Source.s3(bucket=source.bucket, path=source.s3_object_key),
            timeout=self.BUILD_TIMEOUT,
        )
        project.add_to_role_policy(  # the sources of models are assets too
            iam.PolicyStatement(
                actions=["s3:GetObject", "s3:GetObjectVersion"],
                resources=[source.bucket.arn_for_objects("*")],
            )
        )
        project.add_to_role_policy(
            iam.PolicyStatement(
                actions=["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"],
                resources=[self.bucket.bucket.arn_for_objects("*")],
            )
        )
        project.add_to_role_policy(
            iam.PolicyStatement(
                actions=["s3:ListBucket", "s3:ListBucketMultipartUploads"],
                resources=[self.bucket.bucket.bucket_arn],
            )
        )
        return project

    def _provider(self) -> custom_resources.Provider:
        starts, polls = self._function("OnEvent", "on_event"), self._function("Poll", "is_complete")
        manifests = iam.PolicyStatement(
            actions=["s3:GetObject"], resources=[self.bucket.bucket.arn_for_objects("*.json")]
        )
        listing = iam.PolicyStatement(
            actions=["s3:ListBucket"],  # without it, S3 answers 403 where there is no object
            resources=[self.bucket.bucket.bucket_arn],
        )
        for statement in (manifests, listing):
            starts.add_to_role_policy(statement)
        self.bucket.key.grant_decrypt(starts)
        for function, action in ((starts, "StartBuild"), (polls, "BatchGetBuilds")):
            function.add_to_role_policy(
                iam.PolicyStatement(
                    actions=[f"codebuild:{action}"], resources=[self.project.project_arn]
                )
            )
        return custom_resources.Provider(
            self,
            "Provider",
            on_event_handler=starts,
            is_complete_handler=polls,
            log_group=self._log_group("ProviderLog"),
            query_interval=Duration.seconds(5),
            total_timeout=self.TOTAL_TIMEOUT,
        )

    def _function(self, construct_id: str, handler: str) -> lambda_.Function:
        return lambda_.Function(
            self,
            construct_id,
            code=lambda_.Code.from_asset(str(HANDLER), exclude=["__pycache__"]),
            description="Starts and watches builds of Triton model archives",
            environment={"PROJECT": self.project.project_name},
            handler=f"index.{handler}",
            log_group=self._log_group(f"{construct_id}Log"),
            runtime=lambda_.Runtime.PYTHON_3_13,
            timeout=Duration.seconds(60),
        )

    def _log_group(self, construct_id: str) -> logs.LogGroup:
        return logs.LogGroup(
            self,
            construct_id,
            removal_policy=RemovalPolicy.DESTROY,
            retention=logs.RetentionDays.THREE_MONTHS,
        )
