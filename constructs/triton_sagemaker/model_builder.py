"""Builds of model archives in CodeBuild, during a deploy."""

import json
from collections.abc import Sequence

from aws_cdk import CustomResource, Duration, Stack
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from platform_facts.rules.updates import BUILD_WAIT_MINUTES
from triton_sagemaker.allow import Conditions, allow
from triton_sagemaker.build_project import BuildProject, denied_overrides
from triton_sagemaker.engine_builder import EngineBuilder
from triton_sagemaker.handler_function import handler_function, polled_provider
from triton_sagemaker.model_bucket import ENGINE_JOBS, ENGINES, SOURCES, ModelBucket

IMAGE = (
    "public.ecr.aws/docker/library/python"
    "@sha256:a8f8fbe1a0edc9e4dddafa64ba73f7e04be7be5ebc23f332362e779e0a2e4e52"
)
"""Digest of Docker's official multi-architecture image `python:3.11.15-bookworm`."""
CONTENT_WILDCARD_REASON = "Archives, engines, jobs and their results are named by their content."
"""Reason for the wildcards of statements about these objects."""
TORCH_FOR_CPUS = "https://download.pytorch.org/whl/cpu/torch/"
"""PyTorch's page of torch wheels for CPUs, which lists no other package.

PyPI's torch for Linux depends on several GB of CUDA packages. The URL is used as
`PIP_FIND_LINKS`, not as an index (`PIP_EXTRA_INDEX_URL`), because an index could supply any package
(dependency confusion).
"""


class ModelBuilder(Construct):
    """A CodeBuild project, and the custom-resource provider that starts a build of each archive.

    CodeBuild unpacks `source`, and `buildspec` builds one archive with it, on 4 vCPUs with Python
    3.11. The environment of a build has the model's folder in `CODEBUILD_SRC_DIR_model`, and
    `MODEL_NAME`, `MODEL_ALTERNATIVE` (unless empty), `MODEL_DIGEST`, `MODEL_TARGET`,
    `MODEL_BUCKET` and `MODEL_KEY` (the key of the archive). The build must write the manifest last,
    at `MODEL_KEY` with `.json` instead of `.tar.gz`, with the model's `digest`, and in
    `archive.checksum` the SHA-256 that S3 stores for the archive. Engines are compiled by the
    project `GPU_PROJECT`, in the image that `GPU_IMAGES` (JSON) has for the release, otherwise in
    NVIDIA's image; the build waits for them until `BUILD_DEADLINE` (Unix seconds). Without
    `engines` there is no such project, and models may not need engines.

    Builds may write to `archives`, patterns of keys, and may read the models' sources that match
    the pattern `model_sources` in the asset bucket, and nothing else there. Apart from builds, only
    `promoters` (patterns of role ARNs) may write archives.

    Other stacks may invoke `start_function` and `poll_function` with the events of the provider
    framework; the functions then need names.
    """

    QUEUE_TIMEOUT = Duration.hours(4)  # builds in progress may wait hours for a GPU
    BUILD_TIMEOUT = Duration.hours(4)

    MAX_CONCURRENT_BUILDS = 4
    """Limit for one stack. A custom resource needs two concurrent Lambda executions while it is
    created, and a new account has ten (awslabs/landing-zone-accelerator-on-aws#556). `cdk deploy`
    deploys one stack at a time; deliveries compute the number of stacks from the quota."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        bucket: ModelBucket,
        source: s3_assets.Asset,
        buildspec: codebuild.BuildSpec,
        engines: EngineBuilder | None,
        archives: Sequence[str],
        model_sources: str,
        promoters: Sequence[str] = (),
        start_function_name: str | None = None,
        poll_function_name: str | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.bucket = bucket
        self._model_sources = f"{source.bucket.bucket_name}/{model_sources}"
        self._build = self._create_project(source, buildspec, engines)
        self.project, role = self._build.project, self._build.role
        archive_arns = [bucket.arn_for_objects(pattern) for pattern in archives]
        self._allow_builds(archive_arns, source.bucket.arn_for_objects(model_sources))
        bucket.reserve_archives([role.role_arn, *promoters])
        if engines:
            engines.allow_run(role)
        self.start_function = self._create_function("OnEvent", "on_event", start_function_name)
        self.poll_function = self._create_function("Poll", "is_complete", poll_function_name)
        self._allow_polls(archive_arns)
        self.provider = polled_provider(
            self, on_event=self.start_function, is_complete=self.poll_function
        )
        self._service_token = self.provider.service_token
        self._builds: dict[Stack, list[CustomResource]] = {}

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
    ) -> CustomResource:
        """Return a custom resource that builds the archive; dependent resources wait for it.

        CloudFormation updates the resource if a property changes, so that only changed models are
        built. An existing archive is reused, so that a rollback builds nothing. Deletion of the
        resource keeps the archive.

        `key` is ENDPOINT/TARGET/MODEL-DIGEST.tar.gz, with the first 12 hex digits of the digest;
        other keys are rejected. `alternative` is a name of the recipe's alternatives, or empty. The
        resource depends on an earlier one of its stack, so that at most `MAX_CONCURRENT_BUILDS`
        builds run at the same time.
        """
        build = CustomResource(
            Construct(scope, construct_id),
            "Resource",
            resource_type="Custom::TritonModel",
            service_token=self._service_token,
            properties={
                "Model": model,
                "Alternative": alternative,
                "Digest": digest,
                "Target": target,
                "Bucket": self.bucket.bucket_name,
                "Key": key,
                "Source": f"{source.s3_bucket_name}/{source.s3_object_key}",
                "WaitMinutes": str(BUILD_WAIT_MINUTES),
            },
        )
        previous = self._builds.setdefault(Stack.of(scope), [])
        if len(previous) >= self.MAX_CONCURRENT_BUILDS:
            build.node.add_dependency(previous[-self.MAX_CONCURRENT_BUILDS])
        previous.append(build)
        return build

    def _create_project(
        self, source: s3_assets.Asset, buildspec: codebuild.BuildSpec, engines: EngineBuilder | None
    ) -> BuildProject:
        variables = {}
        if engines:
            variables["GPU_PROJECT"] = engines.project.project_name
            variables["GPU_IMAGES"] = json.dumps(engines.mirrors, sort_keys=True)
        return BuildProject(
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
            variables={**variables, "PIP_FIND_LINKS": TORCH_FOR_CPUS},
        )

    def _allow_builds(self, archives: list[str], model_sources: str) -> None:
        """Allow builds to read the sources of models, and to read and write archives and engines.

        Builds may write engine jobs and claims; only the GPU build writes the results of jobs.
        """
        role, bucket = self._build.role, self.bucket
        reason = "Sources of models are assets, whose names change with their content."
        allow(role, ["s3:GetObject", "s3:GetObjectVersion"], [model_sources], reason)
        patterns = (f"{SOURCES}*.zip", f"{ENGINES}*", f"{ENGINE_JOBS}*/job/*")
        objects = [
            bucket.arn_for_objects(pattern) for pattern in (*patterns, f"{ENGINE_JOBS}*/claims/*")
        ]
        actions = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"]
        allow(role, actions, [*archives, *objects], CONTENT_WILDCARD_REASON)
        results = bucket.arn_for_objects(f"{ENGINE_JOBS}*/raw/*")
        allow(role, ["s3:GetObject"], [results], CONTENT_WILDCARD_REASON)
        allow(role, ["s3:ListBucket", "s3:ListBucketMultipartUploads"], [bucket.bucket_arn])

    def _allow_polls(self, archives: list[str]) -> None:
        """Allow the poll function to start and watch builds, and to read manifests.

        It chooses the model's source, which the handler checks, and variables of the build.
        """
        role, project = self.poll_function.role, [self.project.project_arn]
        assert role
        allow(role, ["s3:GetObject"], archives, CONTENT_WILDCARD_REASON)
        # Without ListBucket, S3 answers 403 instead of 404 for an archive that does not exist.
        allow(role, ["s3:ListBucket"], [self.bucket.bucket_arn])
        allow(role, ["codebuild:BatchGetBuilds", "codebuild:ListBuildsForProject"], project)
        overrides: Conditions = {
            "Null": denied_overrides("environment.image"),
            "ForAllValues:StringLike": {
                "codebuild:environment.environmentVariables.name": ["BUILD_*", "MODEL_*"]
            },
        }
        allow(role, ["codebuild:StartBuild"], project, conditions=overrides)
        allow(role, ["logs:GetLogEvents"], [self._build.log.log_group_arn])
        self.bucket.key.grant_decrypt(role)

    def _create_function(
        self, construct_id: str, handler: str, name: str | None
    ) -> lambda_.Function:
        return handler_function(
            self,
            construct_id,
            folder="build_handler",
            description="Starts and watches builds of Triton model archives",
            environment={
                "BUCKET": self.bucket.bucket_name,
                "MODEL_SOURCES": self._model_sources,
                "PROJECT": self.project.project_name,
            },
            handler=handler,
            name=name,
            timeout=Duration.seconds(60),
        )
