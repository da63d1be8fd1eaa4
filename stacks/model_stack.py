"""The persistent stack of a stage's model archives and their builders."""

import json
from collections.abc import Mapping
from pathlib import Path

from aws_cdk import CfnOutput, Environment, IgnoreMode, Stack
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

import platform_facts
from platform_facts.rules.builds import asset_prefix
from stacks.existing import existing_resources
from stacks.settings import RETENTION
from stages.plan import PlannedStage
from triton_sagemaker import (
    AlarmTopic,
    CatalogWriter,
    EndpointLog,
    EngineBuilder,
    ModelBucket,
    ModelBuilder,
    UpdateChecks,
)

ROOT = Path(__file__).parent.parent
BUILDER_RULES = (
    *("__init__", "bucket_keys", "builds", "catalog", "checked_yaml", "engines", "ranges"),
    *("rule", "server"),
)
BUILDER_IGNORE_PATTERNS = [
    *("/*", "!/model_build", "!/platform_facts", "!/model_build/**", "!/platform_facts/**"),
    *("!/plan", "!/plan/**"),
    *("!/local_sagemaker", "/local_sagemaker/*", "!/local_sagemaker/*.py"),
    *("!/local_sagemaker/hosting", "!/local_sagemaker/hosting/**"),
    *("!/requirements", "/requirements/*", "!/requirements/build.txt"),
    *("__pycache__", "/platform_facts/prices.toml", "/platform_facts/rules/*"),
    *(f"!/platform_facts/rules/{name}.py" for name in BUILDER_RULES),
]
"""Patterns that exclude all files except the build code from the builder's asset."""
ARCHIVES = ("*/cpu-*/*", "*/cuda-*/*")
"""Key patterns of archives and their manifests: ENDPOINT/TARGET/FILE."""


class ModelStack(Stack):
    """Bucket, key, build projects, provider, logs, and a topic for alarms.

    The stack does not depend on models. It contains the logs of endpoints because CloudFormation
    deletes an endpoint's stack if its first deployment fails.

    `publish` and deliveries, which build outside of a deployment, read the outputs.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: PlannedStage,
        env: Environment,
    ) -> None:
        super().__init__(scope, construct_id, env=env)
        stage_name, config = stage.plan.stage, stage.config
        self.existing = existing_resources(self, config.existing)
        self.bucket = ModelBucket(self, "Models", encryption_key=self.existing.key)
        has_gpus = platform_facts.region(config.region).codebuild_gpu
        engines = self._engine_builder(config.gpu_build_images) if has_gpus else None
        # The name of the role that copies archives has a suffix of CloudFormation.
        deploy_roles = (
            f"arn:{self.partition}:iam::{self.account}:role/{stage_name}-delivery-Deploy*"
        )
        promotes = config.delivery and config.delivery.promotes_from
        if config.delivery:
            self.bucket.reserve_releases(deploy_roles)
        start, poll = build_functions(stage_name)
        source = self._asset("BuilderSource", ROOT, exclude=BUILDER_IGNORE_PATTERNS)
        self.builder = ModelBuilder(
            self,
            "Builder",
            bucket=self.bucket,
            source=source,
            buildspec=codebuild.BuildSpec.from_object_to_yaml(BUILDSPEC),
            engines=engines,
            archives=ARCHIVES,
            assets=asset_prefix(stage_name),
            promoters=[deploy_roles] if promotes else [],
            start_function_name=start,
            poll_function_name=poll,
        )
        if engines:
            CfnOutput(self, "GpuProject", value=engines.project.project_name)
            if engines.mirrors:
                CfnOutput(self, "GpuImages", value=json.dumps(engines.mirrors, sort_keys=True))
        lists = source.bucket.arn_for_objects(f"{asset_prefix(stage_name)}*.jsonl")
        self.update_checks = UpdateChecks(
            self, "UpdateChecks", bucket=self.bucket, stacks=f"{stage_name}-*", lists=lists
        )
        self.catalog_writer = CatalogWriter(
            self,
            "CatalogWriter",
            stage=stage_name,
            lists=lists,
            stacks=f"{stage_name}-*",
            bucket=self.bucket,
            encryption_key=self.existing.key,
        )
        CfnOutput(self, "StartFunction", value=self.builder.start_function.function_name)
        CfnOutput(self, "PollFunction", value=self.builder.poll_function.function_name)
        self.logs = {
            name: EndpointLog(
                self,
                f"Log-{name}",
                endpoint_name=endpoint.settings.name,
                components={
                    model: component.name
                    for model, component in endpoint.settings.components.items()
                },
                metrics=endpoint.settings.metrics_namespace is not None,
                retention=RETENTION[config.log_retention_days],
            )
            for name, endpoint in stage.plan.endpoints.items()
        }
        if emails := config.notify.email:
            AlarmTopic(self, "Alarms", name=alarm_topic_name(stage_name), emails=emails)

    def _engine_builder(self, mirrors: Mapping[str, str]) -> EngineBuilder:
        newest = platform_facts.releases()[0]
        # Only this folder runs on the GPU instance.
        ignored = ["/*", "!/gpu_step", "!/gpu_step/**", "__pycache__"]
        return EngineBuilder(
            self,
            "Engines",
            bucket=self.bucket,
            source=self._asset("GpuStep", ROOT / "model_build", exclude=ignored),
            buildspec=codebuild.BuildSpec.from_object_to_yaml(ENGINE_BUILDSPEC),
            image=f"nvcr.io/nvidia/tensorrt:{newest.builder_tag}",
            mirrors=mirrors,
        )

    def _asset(self, construct_id: str, folder: Path, *, exclude: list[str]) -> s3_assets.Asset:
        return s3_assets.Asset(
            self, construct_id, path=str(folder), exclude=exclude, ignore_mode=IgnoreMode.GIT
        )


def build_functions(stage_name: str) -> tuple[str, str]:
    """Return the names of the functions that start and poll builds, which deliveries invoke."""
    return f"{stage_name}-models-start-build", f"{stage_name}-models-poll-build"


def alarm_topic_name(stage_name: str) -> str:
    """Return the name of the SNS topic that sends a stage's alarms by e-mail."""
    return f"{stage_name}-alarms"


BUILDSPEC = {
    "version": "0.2",
    "phases": {
        "install": {
            "commands": [
                "python3 -m pip install --quiet --require-hashes --only-binary :all: --no-deps"
                " --requirement requirements/build.txt",
            ]
        },
        "build": {
            "commands": [
                'python3 -m model_build build-list "$BUILD_LIST" --digest "$BUILD_DIGEST"'
                ' --lines "$BUILD_LINES" --bucket "$MODEL_BUCKET" --sources "$ASSET_BUCKET"'
                ' --gpu-project "${GPU_PROJECT:-}" --gpu-images "${GPU_IMAGES:-}"'
                ' --deadline "$BUILD_DEADLINE"',
            ]
        },
    },
}
"""Buildspec of models; `ModelBuilder` documents its variables."""

ENGINE_BUILDSPEC = {
    "version": "0.2",
    "phases": {
        "build": {
            "commands": [
                "start=/opt/nvidia/nvidia_entrypoint.sh; "
                '[ -x "$start" ] || start=env; '
                '"$start" python3 -m gpu_step "$CODEBUILD_SRC_DIR_job" result',
            ]
        },
    },
    "artifacts": {"base-directory": "result", "files": ["**/*"]},
}
"""Buildspec of an engine; `EngineBuilder` documents its variables.

The script is the entry point of NVIDIA's images: if the driver is older than the image, it enables
the newer libcuda of the image (NVIDIA/JAX-Toolbox#1589), and then runs `exec "$@"`
(triton-inference-server/server, docker/cpu_only). It is not documented whether CodeBuild runs the
entry point; running it twice has no effect.
"""
