"""Engine jobs in the model bucket.

    engine-jobs/<digest>/job/                    input of the GPU step
    engine-jobs/<digest>/claims/<attempt>.json   the build of an attempt; the first writer wins
    engine-jobs/<digest>/raw/<build>/            output of the GPU step, not accepted yet

A lifecycle rule deletes these objects after some weeks; accepted results have another prefix.
"""

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from model_build.engines.engine_job import EngineJob
from model_build.gpu_step import job as gpu_job
from model_build.gpu_step import result as gpu_result
from plan.archives import ArchiveBucket
from platform_facts.rules.bucket_keys import ENGINE_JOBS

_CLAIM_FILE = re.compile(r"([0-9]{4,9})\.json")


@dataclass(frozen=True)
class Claim:
    """An attempt at a job, counted from 1, and the id of its build."""

    attempt: int
    build_id: str


@dataclass(frozen=True)
class JobBucket:
    """The objects of one engine job in the model bucket."""

    bucket: ArchiveBucket
    digest: str

    @property
    def job_folder(self) -> str:
        """The prefix of the GPU step's input."""
        return f"{ENGINE_JOBS}{self.digest}/job/"

    @property
    def raw_folder(self) -> str:
        """The prefix of the builds' outputs, without a slash at its end."""
        return f"{ENGINE_JOBS}{self.digest}/raw"

    def upload(self, job: EngineJob) -> None:
        """Upload the job's files, job.json last."""
        timing = [gpu_job.TIMING_CACHE] if (job.folder / gpu_job.TIMING_CACHE).is_file() else []
        for name in [*job.files(), *timing, gpu_job.FILE]:
            key = self.job_folder + name
            self.bucket.s3.upload_file(str(job.folder / name), self.bucket.name, key)

    def last_claim(self) -> Claim | None:
        """Return the claim of the latest attempt, or None."""
        keys = self.bucket.times(self._claims_prefix)
        claims = [
            key for key in keys if _CLAIM_FILE.fullmatch(key.removeprefix(self._claims_prefix))
        ]
        return self._read_claim(max(claims, key=_attempt_number)) if claims else None

    def claim(self, attempt: int, build_id: str) -> Claim:
        """Claim an attempt for `build_id` unless it is claimed; return the claim."""
        key = f"{self._claims_prefix}{attempt:04}.json"
        content = json.dumps({"build": build_id}).encode()
        if self.bucket.write_once(key, content):
            return Claim(attempt, build_id)
        return self._read_claim(key)

    def download_raw(self, build_id: str, *, to: Path) -> bool:
        """Download a build's output; return whether it has a result.

        The name of the artifacts' folder ends in the build's UUID: CodeBuild's documentation does
        not say whether the project's name precedes it.
        """
        to.mkdir(parents=True)
        build_uuid = build_id.rpartition(":")[2]
        for key in self.bucket.times(f"{self.raw_folder}/"):
            folder, _, name = key.rpartition("/")
            if folder.endswith(build_uuid):
                self.bucket.s3.download_file(self.bucket.name, key, str(to / name))
        return (to / gpu_result.FILE).is_file()

    @property
    def _claims_prefix(self) -> str:
        return f"{ENGINE_JOBS}{self.digest}/claims/"

    def _read_claim(self, key: str) -> Claim:
        """Return a claim; its build is empty if a publisher has written invalid JSON."""
        content = self.bucket.read(key) or b""
        build_id = ""
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            build_id = str(json.loads(content)["build"])
        return Claim(_attempt_number(key), build_id)


def _attempt_number(key: str) -> int:
    return int(Path(key).stem)
