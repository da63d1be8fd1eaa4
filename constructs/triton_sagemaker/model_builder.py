"""Builds model archives in CodeBuild while a stack is deployed."""

from pathlib import Path

from aws_cdk import Duration, custom_resources
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from triton_sagemaker.argument_types import typed
from triton_sagemaker.build_project import BuildProject, build_log
from triton_sagemaker.built_model import BuiltModel
from triton_sagemaker.engine_builder import EngineBuilder
from triton_sagemaker.handler_function import function_role, handler_function
from triton_sagemaker.model_bucket import ModelBucket

HANDLER = Path(__file__).parent / "build_handler"
IMAGE = "public.ecr.aws/docker/library/python:3.11-bookworm"
TORCH_FOR_CPUS = "https://download.pytorch.org/whl/cpu"
"""PyTorch's own index: PyPI's torch for Linux brings CUDA, which is several GB."""


@typed
class ModelBuilder(Construct):
    """A CodeBuild project and the custom-resource provider that runs it, one build a model.

    `source` is what CodeBuild unpacks as its primary source, `buildspec` builds one model from it,
    on 4 vCPUs with Python 3.11. The build sees the model's folder in `CODEBUILD_SRC_DIR_model`, and
    what to make of it in `MODEL_NAME`, `MODEL_ALTERNATIVE` and `MODEL_COPY` (unless empty),
    `MODEL_DIGEST`, `MODEL_TARGET`, `MODEL_BUCKET` and `MODEL_KEY` (the archive's key). It must
    write the archive's manifest, `MODEL_KEY` with `.json` for `.tar.gz`, when all else is done.
    Engines are compiled by the project `GPU_PROJECT`, for which it waits until `BUILD_DEADLINE`
    (seconds since 1970); without `engines` there is none, and no model may need one.

    `start_function` and `poll_function` take the provider's events from anybody else, too.
    """

    QUEUE_TIMEOUT = Duration.hours(4)  # others wait in their places for GPUs
    BUILD_TIMEOUT = Duration.hours(4)
    TOTAL_TIMEOUT = Duration.minutes(55)  # CloudFormation gives a custom resource one hour
    WAIT = Duration.minutes(50)  # and then there is time to say how it ended

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        bucket: ModelBucket,
        source: s3_assets.Asset,
        buildspec: codebuild.BuildSpec,
        engines: EngineBuilder | None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.bucket = bucket
        self._build = self._project(source, buildspec, engines)
        self.project = self._build.project
        self.start_function = self._function("OnEvent", "on_event")
        self.poll_function = self._function("Poll", "is_complete")
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
                "WaitMinutes": str(self.WAIT.to_minutes()),
            },
        )

    def _project(
        self, source: s3_assets.Asset, buildspec: codebuild.BuildSpec, engines: EngineBuilder | None
    ) -> BuildProject:
        build = BuildProject(
            self,
            "Project",
            description="Builds one Triton model archive",
            source=source,
            buildspec=buildspec,
            image=IMAGE,
            compute_type=codebuild.ComputeType.MEDIUM,
            key=self.bucket.key,
            queue_timeout=self.QUEUE_TIMEOUT,
            timeout=self.BUILD_TIMEOUT,
            variables={
                **({"GPU_PROJECT": engines.project.project_name} if engines else {}),
                "PIP_EXTRA_INDEX_URL": TORCH_FOR_CPUS,
            },
        )
        bucket = self.bucket.bucket
        build.allow(  # the sources of models are assets too
            ["s3:GetObject", "s3:GetObjectVersion"], [source.bucket.arn_for_objects("*")]
        )
        build.allow(
            ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"],
            [bucket.arn_for_objects("*")],
        )
        build.allow(["s3:ListBucket", "s3:ListBucketMultipartUploads"], [bucket.bucket_arn])
        if engines:
            engines.allow_run(build)
        return build

    def _provider(self) -> custom_resources.Provider:
        starts, polls, bucket = self.start_function, self.poll_function, self.bucket.bucket
        for function, action, resource in (
            (starts, "s3:GetObject", bucket.arn_for_objects("*.json")),
            (starts, "s3:ListBucket", bucket.bucket_arn),  # without it, 403 where nothing is
            (starts, "codebuild:StartBuild", self.project.project_arn),
            (polls, "codebuild:BatchGetBuilds", self.project.project_arn),
            (polls, "logs:GetLogEvents", self._build.log.log_group_arn),
        ):
            function.add_to_role_policy(iam.PolicyStatement(actions=[action], resources=[resource]))
        self.bucket.key.grant_decrypt(starts)
        log = build_log(self, "ProviderLog")
        return custom_resources.Provider(
            self,
            "Provider",
            on_event_handler=starts,
            is_complete_handler=polls,
            framework_complete_and_timeout_role=function_role(self, "ProviderWaitRole", log),
            framework_on_event_role=function_role(self, "ProviderRole", log),
            log_group=log,
            query_interval=Duration.seconds(5),
            total_timeout=self.TOTAL_TIMEOUT,
        )

    def _function(self, construct_id: str, handler: str) -> lambda_.Function:
        return handler_function(
            self,
            construct_id,
            folder=HANDLER,
            description="Starts and watches builds of Triton model archives",
            environment={"PROJECT": self.project.project_name},
            handler=handler,
            timeout=Duration.seconds(60),
        )
