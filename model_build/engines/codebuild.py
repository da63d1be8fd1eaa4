"""Engine jobs on CodeBuild's GPU project of a stage."""

import hashlib
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

import platform_facts
from model_build.engines.build_overrides import build_overrides
from model_build.engines.engine_job import EngineJob
from model_build.engines.engine_result import is_complete_result
from model_build.engines.gpu_failures import NO_QUOTA, QUOTA, gpu_failure
from model_build.engines.job_bucket import JobBucket
from model_build.errors import BuildError
from model_build.gpu_step.result import FILE as RESULT
from model_build.progress import Progress
from platform_facts import ComputeCapability

if TYPE_CHECKING:
    from mypy_boto3_codebuild import CodeBuildClient
    from mypy_boto3_codebuild.type_defs import BuildTypeDef
    from mypy_boto3_s3 import S3Client

IMAGE = "nvcr.io/nvidia/tensorrt"
POLL_SECONDS = 15.0


@dataclass(frozen=True, kw_only=True)
class CodeBuildGpu:
    """Runs a job as a build of `project`, or follows the build of whoever claimed it before.

    The build goes on when this process ends: who asks for the same job next finds it. `images` has
    copies of NVIDIA's images by release, which are pulled instead. `deadline` is when to give up
    waiting, in seconds since 1970, None for never.
    """

    s3: "S3Client"
    codebuild: "CodeBuildClient"
    logs: Any
    bucket: str
    project: str
    images: Mapping[str, str] = field(default_factory=dict)
    deadline: float | None = None
    now: Callable[[], float] = field(default=time.time)
    pause: Callable[[float], None] = field(default=time.sleep)

    def compute_capability(self) -> ComputeCapability:
        """Return that of the GPU project's machines."""
        return platform_facts.codebuild_gpu().compute_capability

    def run(self, job: EngineJob, *, to: Path, progress: Progress) -> None:
        """Compile the job and download the files of its result. Raises `BuildError`."""
        place = JobBucket(self.s3, self.bucket, job.digest)
        claim = place.last_claim()
        if claim and self._may_be_followed(claim.build, job, progress):
            self._wait(job, claim.build, progress)
            if place.download_raw(claim.build, to=to) and is_complete_result(to, job):
                return
            progress(f"{claim.build} left no whole result: the engine is compiled anew")
            shutil.rmtree(to)
        build = self._start(job, place, claim.attempt + 1 if claim else 1, progress)
        self._wait(job, build, progress)
        if not place.download_raw(build, to=to):
            raise BuildError(
                f"{build} left no {RESULT} below s3://{self.bucket}/{place.raw_folder}: the GPU "
                "step did not end. Deploy again: it is compiled anew"
            )

    def _may_be_followed(self, build: str, job: EngineJob, progress: Progress) -> bool:
        """Whether a build goes on or has succeeded, and is as this process would start it.

        Who publishes writes claims, and may start builds: one of another project is not followed,
        nor one with settings of its own.
        """
        if not build.startswith(f"{self.project}:"):
            return False
        record = self._describe(build)
        if record.get("buildStatus") not in ("IN_PROGRESS", "SUCCEEDED"):
            return False
        (project,) = self.codebuild.batch_get_projects(names=[self.project])["projects"]
        overrides = build_overrides(record, project, image=self._image(job))
        if overrides:
            progress(
                f"{build} is not followed: it overrides {', '.join(overrides)} of {self.project}. "
                "The engine is compiled anew"
            )
        return not overrides

    def _image(self, job: EngineJob) -> str:
        return self.images.get(job.release.name, f"{IMAGE}:{job.release.builder_tag}")

    def _start(self, job: EngineJob, place: JobBucket, attempt: int, progress: Progress) -> str:
        """Start a build and claim the attempt for it; return that of who was first, if it may be.

        All who start the same attempt within five minutes are given one build, by the token.
        """
        place.upload(job)
        build = self._start_build(job, place, attempt, progress)
        claim = place.claim(attempt, build)
        if claim.build == build or not self._may_be_followed(claim.build, job, progress):
            return build
        self.codebuild.stop_build(id=build)
        return claim.build

    def _start_build(
        self, job: EngineJob, place: JobBucket, attempt: int, progress: Progress
    ) -> str:
        """Return the id of a build that CodeBuild has accepted."""
        image = self._image(job)
        # Another project, or another image with the same TensorRT, would be another request.
        named = f"{self.project} {image} {job.digest} {attempt}"

        refused = False
        while True:
            try:
                return self.codebuild.start_build(
                    projectName=self.project,
                    idempotencyToken=hashlib.sha256(named.encode()).hexdigest(),
                    imageOverride=image,
                    secondarySourcesOverride=[
                        {
                            "type": "S3",
                            "location": f"{self.bucket}/{place.job_folder}",
                            "sourceIdentifier": "job",
                        }
                    ],
                    artifactsOverride={
                        "type": "S3",
                        "location": self.bucket,
                        "path": place.raw_folder,
                        "namespaceType": "BUILD_ID",
                        "name": "/",
                        "packaging": "NONE",
                    },
                )["build"]["id"]
            except ClientError as error:
                if error.response["Error"]["Code"] != "AccountLimitExceededException":
                    raise
                message = error.response["Error"]["Message"]
                if NO_QUOTA in message or self._is_late():
                    raise BuildError(
                        f"CodeBuild starts no GPU build ({message}): {QUOTA}"
                    ) from None
                if not refused:
                    progress(f"waiting: {message}")
                refused = True
            self.pause(POLL_SECONDS)

    def _is_late(self) -> bool:
        return self.deadline is not None and self.now() >= self.deadline

    def _wait(self, job: EngineJob, build: str, progress: Progress) -> None:
        """Return when the build has succeeded; raise with its message if it failed."""
        progress(f"{build} compiles the engine on a GPU, job {job.digest[:12]}")
        phase = ""
        while True:
            record = self._describe(build)
            if (now_in := record.get("currentPhase", "")) != phase:
                phase = now_in
                progress(f"{build}: {phase}")
            status = record.get("buildStatus")
            if status == "SUCCEEDED":
                return
            if status != "IN_PROGRESS":
                raise gpu_failure(build, record, self.logs)
            if self._is_late():
                raise BuildError(
                    f"{build} still compiles the engine (phase {phase}), and goes on: deploy again "
                    "when it has ended, and its result is found; `make deliver` waits for it"
                )
            self.pause(POLL_SECONDS)

    def _describe(self, build: str) -> "BuildTypeDef":
        """Return CodeBuild's record of a build, empty for an unknown one."""
        builds = self.codebuild.batch_get_builds(ids=[build])["builds"]
        return builds[0] if builds else {}
