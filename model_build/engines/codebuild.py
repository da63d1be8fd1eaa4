"""Engine jobs on CodeBuild's GPU project of a stage."""

import hashlib
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

import platform_facts
from model_build.engines.engine_job import EngineJob
from model_build.engines.engine_result import is_whole
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
POLL_SECONDS = 5.0
QUOTA = (
    'ask AWS for the CodeBuild quota "Concurrently running builds for Linux GPU Small/environment"'
)
_LOG_EVENTS = 100


@dataclass(frozen=True, kw_only=True)
class CodeBuildGpu:
    """Runs a job as a build of `project`, or follows the build of whoever claimed it before.

    The build goes on when this process ends: who asks for the same job next finds it. `deadline` is
    when to give up waiting, in seconds since 1970, None for never.
    """

    s3: "S3Client"
    codebuild: "CodeBuildClient"
    logs: Any
    bucket: str
    project: str
    deadline: float | None = None
    now: Callable[[], float] = field(default=time.time)
    pause: Callable[[float], None] = field(default=time.sleep)

    def compute_capability(self) -> ComputeCapability:
        """Return that of the GPU project's machines."""
        return platform_facts.codebuild_gpu().compute_capability

    def run(self, job: EngineJob, *, to: Path, progress: Progress) -> None:
        """Have the job done, and download what the step left. Raises `BuildError`."""
        place = JobBucket(self.s3, self.bucket, job.digest)
        claim = place.last_claim()
        if claim and self._may_be_followed(claim.build):
            self._wait(job, claim.build, progress)
            if place.download_raw(claim.build, to=to) and is_whole(to, job):
                return
            progress(f"{claim.build} left no whole result: the engine is compiled anew")
            shutil.rmtree(to)
        build = self._start(job, place, attempt=claim.attempt + 1 if claim else 1)
        self._wait(job, build, progress)
        if not place.download_raw(build, to=to):
            raise BuildError(
                f"{build} left no {RESULT} below s3://{self.bucket}/{place.raw_folder}: the GPU "
                "step did not end. Deploy again: it is compiled anew"
            )

    def _may_be_followed(self, build: str) -> bool:
        """Whether a build goes on or has succeeded; one of another project is nobody's here."""
        if not build.startswith(f"{self.project}:"):
            return False
        return self._describe(build).get("buildStatus") in ("IN_PROGRESS", "SUCCEEDED")

    def _start(self, job: EngineJob, place: JobBucket, *, attempt: int) -> str:
        """Start a build and claim the attempt for it; where somebody else was first, theirs it is.

        All who start the same attempt within five minutes are given one build, by the token.
        """
        place.upload(job)
        build = self._start_build(job, place, attempt=attempt)
        claim = place.claim(attempt, build)
        if claim.build != build:
            self.codebuild.stop_build(id=build)
        return claim.build

    def _start_build(self, job: EngineJob, place: JobBucket, *, attempt: int) -> str:
        image = f"{IMAGE}:{job.release.builder_tag}"
        # Another project, or another image with the same TensorRT, would be another request.
        named = f"{self.project} {image} {job.digest} {attempt}"
        try:
            started = self.codebuild.start_build(
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
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "AccountLimitExceededException":
                raise
            said = error.response["Error"]["Message"]
            raise BuildError(f"CodeBuild starts no GPU build ({said}): {QUOTA}") from None
        return started["build"]["id"]

    def _wait(self, job: EngineJob, build: str, progress: Progress) -> None:
        """Return when the build has succeeded; raise with what it said when it has not."""
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
                raise BuildError(self._failure(build, record))
            if self.deadline is not None and self.now() >= self.deadline:
                raise BuildError(
                    f"{build} still compiles the engine (phase {phase}), and goes on: deploy again "
                    "when it has ended, and its result is found; `make deliver` waits for it"
                )
            self.pause(POLL_SECONDS)

    def _describe(self, build: str) -> "BuildTypeDef":
        """Return CodeBuild's record of a build, empty where it knows none."""
        builds = self.codebuild.batch_get_builds(ids=[build])["builds"]
        return builds[0] if builds else {}

    def _failure(self, build: str, record: "BuildTypeDef") -> str:
        status = record.get("buildStatus", "UNKNOWN").replace("_", " ").lower()
        phases = [
            it
            for it in record.get("phases", ())
            if it.get("phaseStatus") not in (None, "SUCCEEDED")
        ]
        phase = phases[0].get("phaseType", "") if phases else ""
        if phase == "QUEUED":
            return f"{build} {status}: no GPU machine was free in time. Deploy again, or {QUOTA}"
        said = self._error_line(record)
        contexts = phases[0].get("contexts", ()) if phases else ()
        reason = said or "".join(f"{it.get('message', '')}" for it in contexts[:1])
        if phase == "PROVISIONING":
            reason += (
                " (AWS has no such machine now, or its driver is too old for the image: deploy "
                "again later; if it stays so, choose an older Triton release)"
            )
        log = record.get("logs", {}).get("deepLink", "in CodeBuild")
        return f"{build} {status}{f' in phase {phase}' if phase else ''}: {reason}. Log: {log}"

    def _error_line(self, record: "BuildTypeDef") -> str:
        """Return the last error that the step wrote to its log."""
        place = record.get("logs", {})
        if not place.get("groupName") or not place.get("streamName"):
            return ""
        try:
            found = self.logs.get_log_events(
                logGroupName=place["groupName"],
                logStreamName=place["streamName"],
                startFromHead=False,
                limit=_LOG_EVENTS,
            )
        except ClientError:  # no log, or not allowed: the phase's own words are there
            return ""
        lines = [line for it in found["events"] for line in it["message"].splitlines()]
        errors = [it.removeprefix("error: ") for it in lines if it.startswith("error: ")]
        return errors[-1].strip() if errors else ""
