"""Builds of model archives in CodeBuild, during a deploy."""

import json
from collections.abc import Iterable, Sequence

from aws_cdk import CustomResource, Duration
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from platform_facts.rules.bucket_keys import ENGINE_JOBS, ENGINES, LISTS, SOURCES
from platform_facts.rules.builds import BuildItem
from platform_facts.rules.updates import BUILD_WAIT_MINUTES
from triton_sagemaker.allow import Conditions, allow
from triton_sagemaker.build_project import BuildProject, denied_overrides
from triton_sagemaker.engine_builder import EngineBuilder
from triton_sagemaker.handler_function import LISTS_MB, handler_function, polled_provider
from triton_sagemaker.list_asset import ListAsset
from triton_sagemaker.model_bucket import ModelBucket

IMAGE = (
    "public.ecr.aws/docker/library/python"
    "@sha256:a8f8fbe1a0edc9e4dddafa64ba73f7e04be7be5ebc23f332362e779e0a2e4e52"
)
"""Digest of Docker's official multi-architecture image `python:3.11.15-bookworm`."""
CONTENT_WILDCARD_REASON = "Archives, engines, jobs and their results are named by their content."
"""Reason for the wildcards of statements about these objects."""
ASSETS_REASON = "Lists, and sources of models, are named by their content."
"""Reason for the wildcards of statements about assets."""
TORCH_FOR_CPUS = "https://download.pytorch.org/whl/cpu/torch/"
"""PyTorch's page of torch wheels for CPUs, which lists no other package.

PyPI's torch for Linux depends on several GB of CUDA packages. The URL is used as
`PIP_FIND_LINKS`, not as an index (`PIP_EXTRA_INDEX_URL`), because an index could supply any package
(dependency confusion).
"""


class ModelBuilder(Construct):
    """A CodeBuild project, and the custom-resource provider that builds a list of archives.

    CodeBuild unpacks `source`, and `buildspec` builds some archives of a list with it, on 4 vCPUs
    with Python 3.11. Variables of a build are `BUILD_LIST`, the location BUCKET/KEY of the list of
    `BuildItem`s, `BUILD_DIGEST`, its SHA-256, and `BUILD_LINES`, the numbers of the lines to build,
    such as `1-50,60`; sources are in `ASSET_BUCKET` or `MODEL_BUCKET`. A build continues after a
    model that fails, prints `error: MODEL: REASON` at the end for each, and exits with 1. For each
    archive it must write the manifest last, at the archive's key with `.json` instead of `.tar.gz`,
    with the model's `digest`, and in `archive.checksum` the SHA-256 that S3 stores for the archive.
    Engines are compiled by the project `GPU_PROJECT`, in the image that `GPU_IMAGES` (JSON) has for
    the release, otherwise in NVIDIA's image; the build waits for them until `BUILD_DEADLINE` (Unix
    seconds). Without `engines` there is no such project, and models may not need engines.

    Builds may write to `archives`, patterns of keys. They may read lists and sources below the
    prefix `assets` of the asset bucket, and nothing else there. Apart from builds, only `promoters`
    (patterns of role ARNs) may write archives.

    Other stacks may invoke `start_function` and `poll_function` with the events of the provider
    framework; the functions then need names.
    """

    QUEUE_TIMEOUT = Duration.hours(4)  # builds in progress may wait hours for a GPU
    BUILD_TIMEOUT = Duration.hours(4)

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
        assets: str,
        promoters: Sequence[str] = (),
        start_function_name: str | None = None,
        poll_function_name: str | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.bucket = bucket
        self._assets = f"{source.bucket.bucket_name}/{assets}"
        self._build = self._create_project(source, buildspec, engines)
        self.project, role = self._build.project, self._build.role
        archive_arns = [bucket.arn_for_objects(pattern) for pattern in archives]
        lists = [source.bucket.arn_for_objects(f"{assets}*.jsonl")]
        lists.append(bucket.arn_for_objects(f"{LISTS}*.jsonl"))
        sources = source.bucket.arn_for_objects(f"{assets}*.zip")
        allow(role, ["s3:GetObject"], [*lists, sources], ASSETS_REASON)
        self._allow_builds(archive_arns)
        bucket.reserve_archives([role.role_arn, *promoters])
        if engines:
            engines.allow_run(role)
        self.start_function = self._create_function("OnEvent", "on_event", start_function_name)
        self.poll_function = self._create_function("Poll", "is_complete", poll_function_name)
        self._allow_polls(archive_arns, lists)
        self.provider = polled_provider(
            self, on_event=self.start_function, is_complete=self.poll_function
        )
        self._service_token = self.provider.service_token

    def build_all(
        self,
        scope: Construct,
        construct_id: str,
        items: Iterable[BuildItem],
        *,
        keep_failed: bool = False,
    ) -> CustomResource:
        """Return a custom resource that builds the archives; dependent resources wait for it.

        The list is an asset, so that the template does not depend on the number of archives. Only
        archives that the bucket does not have are built, and a rollback builds nothing. Deletion of
        the resource keeps the archives. Sources of items must match `assets`; items whose keys are
        not those of their models and digests are rejected by the deploy. With
        `keep_failed`, a model that cannot be built does not fail the deploy: see `archives` of
        `ModelCatalog`.
        """
        group = Construct(scope, construct_id)
        archives = ListAsset(group, "List", (item.as_json() for item in items))
        return CustomResource(
            group,
            "Resource",
            resource_type="Custom::TritonModels",
            service_token=self._service_token,
            properties={
                **archives.properties,
                "Bucket": self.bucket.bucket_name,
                "WaitMinutes": str(BUILD_WAIT_MINUTES),
                **({"OnFailure": "keep"} if keep_failed else {}),
            },
        )

    def _create_project(
        self, source: s3_assets.Asset, buildspec: codebuild.BuildSpec, engines: EngineBuilder | None
    ) -> BuildProject:
        variables = {
            "ASSET_BUCKET": source.bucket.bucket_name,
            "MODEL_BUCKET": self.bucket.bucket_name,
        }
        if engines:
            variables["GPU_PROJECT"] = engines.project.project_name
            variables["GPU_IMAGES"] = json.dumps(engines.mirrors, sort_keys=True)
        return BuildProject(
            self,
            "Project",
            description="Builds Triton model archives",
            source=source,
            buildspec=buildspec,
            image=IMAGE,
            compute_type=codebuild.ComputeType.MEDIUM,
            key=self.bucket.key,
            queue_timeout=self.QUEUE_TIMEOUT,
            timeout=self.BUILD_TIMEOUT,
            variables={**variables, "PIP_FIND_LINKS": TORCH_FOR_CPUS},
        )

    def _allow_builds(self, archives: list[str]) -> None:
        """Allow builds to read and write archives, their sources and engines.

        Builds may write engine jobs and claims; only the GPU build writes the results of jobs.
        """
        role, bucket = self._build.role, self.bucket
        patterns = (f"{SOURCES}*.zip", f"{ENGINES}*", f"{ENGINE_JOBS}*/job/*")
        objects = [
            bucket.arn_for_objects(pattern) for pattern in (*patterns, f"{ENGINE_JOBS}*/claims/*")
        ]
        actions = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"]
        allow(role, actions, [*archives, *objects], CONTENT_WILDCARD_REASON)
        results = bucket.arn_for_objects(f"{ENGINE_JOBS}*/raw/*")
        allow(role, ["s3:GetObject"], [results], CONTENT_WILDCARD_REASON)
        allow(role, ["s3:ListBucket", "s3:ListBucketMultipartUploads"], [bucket.bucket_arn])

    def _allow_polls(self, archives: list[str], lists: list[str]) -> None:
        """Allow the poll function to start and watch builds, and to read lists and manifests.

        It chooses the list, whose items the handler checks, and the lines of the build.
        """
        role, project = self.poll_function.role, [self.project.project_arn]
        assert role
        allow(role, ["s3:GetObject"], archives, CONTENT_WILDCARD_REASON)
        allow(role, ["s3:GetObject"], lists, ASSETS_REASON)
        allow(role, ["s3:ListBucket"], [self.bucket.bucket_arn])
        allow(role, ["codebuild:BatchGetBuilds", "codebuild:ListBuildsForProject"], project)
        overrides: Conditions = {
            "Null": denied_overrides("environment.image"),
            "ForAllValues:StringLike": {
                "codebuild:environment.environmentVariables.name": ["BUILD_*"]
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
                "ASSETS": self._assets,
                "BUCKET": self.bucket.bucket_name,
                "PROJECT": self.project.project_name,
            },
            handler=handler,
            memory_mb=LISTS_MB,
            name=name,
            timeout=Duration.minutes(2),
        )
