"""The provider of TensorRT engines for a model bucket."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import boto3
from botocore.config import Config

from model_build.engines.accepted_results import BucketResultStore
from model_build.engines.codebuild import CodeBuildGpu
from model_build.engines.engine_job import EngineJob
from model_build.engines.local_gpu import LocalGpu
from model_build.engines.provider import Engines, GpuRunner
from model_build.errors import BuildError
from model_build.progress import Progress
from plan.archives import ArchiveBucket
from plan.deployed import models_stack, models_stack_outputs
from platform_facts import ComputeCapability

MANY_RETRIES = Config(retries={"mode": "standard", "total_max_attempts": 12})
"""Many retries: a GPU build takes minutes, and throttled calls must not fail it."""
GPU_PROJECT = "GpuProject"
"""Output of a stage's models stack: the name of its GPU project."""
GPU_IMAGES = "GpuImages"
"""Output of a stage's models stack: copies of NVIDIA's images by release, as JSON."""


def bucket_engines(
    bucket: ArchiveBucket,
    *,
    project: str | None,
    images: Mapping[str, str],
    deadline: float | None = None,
) -> Engines:
    """Return the provider for builds, which compiles in CodeBuild's `project` or on this machine.

    `images` are copies of NVIDIA's images by release.
    """
    gpu = _codebuild(bucket, project, images, deadline=deadline) if project else LocalGpu()
    return Engines(BucketResultStore(bucket, is_builder=True), gpu)


def stage_engines(bucket: ArchiveBucket, *, stage: str) -> Engines:
    """Return the provider for `publish` to a deployed stage."""
    return Engines(BucketResultStore(bucket, is_builder=False), StageGpu(bucket, stage))


@dataclass(frozen=True)
class StageGpu:
    """This machine's GPU if `tensorrt` is installed, else the GPU project of a deployed stage.

    The stage's outputs are read when the first engine is needed.
    """

    bucket: ArchiveBucket
    stage: str

    def compute_capability(self) -> ComputeCapability:
        """Return the GPU's compute capability."""
        return self._gpu.compute_capability()

    def run(self, job: EngineJob, *, to: Path, progress: Progress) -> None:
        """Run a job. Raise `BuildError`."""
        self._gpu.run(job, to=to, progress=progress)

    @cached_property
    def _gpu(self) -> GpuRunner:
        if find_spec("tensorrt"):
            return LocalGpu()
        outputs = models_stack_outputs(boto3.client("cloudformation"), self.stage)
        if GPU_PROJECT not in outputs:
            raise BuildError(
                f"the stack {models_stack(self.stage)} has no output {GPU_PROJECT}: it is older "
                "than this checkout. Deploy it"
            )
        images = json.loads(outputs.get(GPU_IMAGES, "{}"))
        return _codebuild(self.bucket, outputs[GPU_PROJECT], images, deadline=None)


def _codebuild(
    bucket: ArchiveBucket, project: str, images: Mapping[str, str], *, deadline: float | None
) -> GpuRunner:
    return CodeBuildGpu(
        codebuild=boto3.client("codebuild", config=MANY_RETRIES),
        logs=boto3.client("logs"),
        bucket=bucket,
        project=project,
        images=images,
        deadline=deadline,
    )
