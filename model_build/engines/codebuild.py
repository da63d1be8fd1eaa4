"""Engine jobs on a stage's GPU project in CodeBuild."""

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
from model_build.engines.gpu_failures import (
    NO_QUOTA,
    REQUEST_QUOTA,
    ImageNotPulled,
    gpu_failure,
)
from model_build.engines.job_bucket import JobBucket
from model_build.errors import BuildError
from model_build.gpu_step.result import FILE as RESULT
from model_build.progress import Progress
from plan.archives import ArchiveBucket
from platform_facts import ComputeCapability

if TYPE_CHECKING:
    from mypy_boto3_codebuild import CodeBuildClient
    from mypy_boto3_codebuild.type_defs import BuildTypeDef

IMAGE = "nvcr.io/nvidia/tensorrt"
POLL_SECONDS = 15.0


@dataclass(frozen=True, kw_only=True)
class CodeBuildGpu:
    """Runner of engine jobs as builds of the CodeBuild project `project`.

    Processes share builds: if the build of a job is in progress, a second process waits for the
    same build. Builds continue if a process ends. `images` are copies of NVIDIA's images by
    release. `deadline` is the Unix time at which to stop waiting, None for no limit.
    """

    codebuild: "CodeBuildClient"
    logs: Any
    bucket: ArchiveBucket
    project: str
    images: Mapping[str, str] = field(default_factory=dict)
    deadline: float | None = None
    clock: Callable[[], float] = field(default=time.time)
    sleep: Callable[[float], None] = field(default=time.sleep)

    def compute_capability(self) -> ComputeCapability:
        """Return the compute capability of the GPU project's machines."""
        return platform_facts.codebuild_gpu().compute_capability

    def run(self, job: EngineJob, *, to: Path, progress: Progress) -> None:
        """Compile the job and download the files of its result. Raise `BuildError`."""
        job_bucket = JobBucket(self.bucket, job.digest)
        claim = job_bucket.last_claim()
        attempt = claim.attempt + 1 if claim else 1
        if claim and self._is_trusted(claim.build_id, job, progress):
            self._wait(job, claim.build_id, progress)
            if job_bucket.download_raw(claim.build_id, to=to) and is_complete_result(to, job):
                return
            progress(f"{claim.build_id} left no complete result: the engine is compiled again")
            shutil.rmtree(to)
        build_id = self._start(job, job_bucket, attempt, progress)
        try:
            self._wait(job, build_id, progress)
        except ImageNotPulled as error:  # as model builds: a second attempt, no third
            progress(f"{error}. It is started once more")
            build_id = self._start(job, job_bucket, attempt + 1, progress)
            self._wait(job, build_id, progress)
        if not job_bucket.download_raw(build_id, to=to):
            raise BuildError(
                f"{build_id} left no {RESULT} below "
                f"s3://{self.bucket.name}/{job_bucket.raw_folder}: the GPU step did not finish. "
                "Deploy again, which compiles the engine again"
            )

    def _is_trusted(self, build_id: str, job: EngineJob, progress: Progress) -> bool:
        """Return whether a claimed build runs or has succeeded, with the project's own settings.

        Publishers can write claims and start builds, so builds of other projects and builds with
        overridden settings are not used.
        """
        if not build_id.startswith(f"{self.project}:"):
            return False
        record = self._describe(build_id)
        if record.get("buildStatus") not in ("IN_PROGRESS", "SUCCEEDED"):
            return False
        (project,) = self.codebuild.batch_get_projects(names=[self.project])["projects"]
        overrides = build_overrides(record, project, image=self._image(job))
        if overrides:
            progress(
                f"{build_id} is not used: it overrides {', '.join(overrides)} of {self.project}. "
                "The engine is compiled again"
            )
        return not overrides

    def _image(self, job: EngineJob) -> str:
        return self.images.get(job.release.name, f"{IMAGE}:{job.release.builder_tag}")

    def _start(
        self, job: EngineJob, job_bucket: JobBucket, attempt: int, progress: Progress
    ) -> str:
        """Start a build and claim the attempt; return the build that claimed the attempt first.

        Processes that start the same attempt within five minutes get the same build, by the
        idempotency token.
        """
        job_bucket.upload(job)
        build_id = self._start_build(job, job_bucket, attempt, progress)
        claim = job_bucket.claim(attempt, build_id)
        if claim.build_id == build_id or not self._is_trusted(claim.build_id, job, progress):
            return build_id
        self.codebuild.stop_build(id=build_id)
        return claim.build_id

    def _start_build(
        self, job: EngineJob, job_bucket: JobBucket, attempt: int, progress: Progress
    ) -> str:
        """Start a build and return its id, waiting while the account's limit is reached."""
        image = self._image(job)
        request = f"{self.project} {image} {job.digest} {attempt}"
        is_waiting = False
        while True:
            try:
                return self.codebuild.start_build(
                    projectName=self.project,
                    idempotencyToken=hashlib.sha256(request.encode()).hexdigest(),
                    imageOverride=image,
                    secondarySourcesOverride=[
                        {
                            "type": "S3",
                            "location": f"{self.bucket.name}/{job_bucket.job_folder}",
                            "sourceIdentifier": "job",
                        }
                    ],
                    artifactsOverride={
                        "type": "S3",
                        "location": self.bucket.name,
                        "path": job_bucket.raw_folder,
                        "namespaceType": "BUILD_ID",
                        "name": "/",
                        "packaging": "NONE",
                    },
                )["build"]["id"]
            except ClientError as error:
                if error.response["Error"]["Code"] != "AccountLimitExceededException":
                    raise
                message = error.response["Error"]["Message"]
                if NO_QUOTA in message or self._is_past_deadline():
                    raise BuildError(
                        f"CodeBuild starts no GPU build ({message}): {REQUEST_QUOTA}"
                    ) from None
                if not is_waiting:
                    progress(f"waiting: {message}")
                is_waiting = True
            self.sleep(POLL_SECONDS)

    def _is_past_deadline(self) -> bool:
        return self.deadline is not None and self.clock() >= self.deadline

    def _wait(self, job: EngineJob, build_id: str, progress: Progress) -> None:
        """Wait until the build has succeeded. Raise `BuildError` if it failed."""
        progress(f"{build_id} compiles the engine on a GPU, job {job.digest[:12]}")
        phase = ""
        while True:
            record = self._describe(build_id)
            if (current_phase := record.get("currentPhase", "")) != phase:
                phase = current_phase
                progress(f"{build_id}: {phase}")
            status = record.get("buildStatus")
            if status == "SUCCEEDED":
                return
            if status != "IN_PROGRESS":
                raise gpu_failure(build_id, record, self.logs)
            if self._is_past_deadline():
                raise BuildError(
                    f"{build_id} is still compiling the engine (phase {phase}) and continues: "
                    "deploy again when it has finished, which uses its result; `make deliver` "
                    "waits for it"
                )
            self.sleep(POLL_SECONDS)

    def _describe(self, build_id: str) -> "BuildTypeDef":
        """Return CodeBuild's record of a build, empty for an unknown build."""
        builds = self.codebuild.batch_get_builds(ids=[build_id])["builds"]
        return builds[0] if builds else {}
