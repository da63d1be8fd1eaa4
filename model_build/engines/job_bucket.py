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
from typing import TYPE_CHECKING

from model_build.engines.engine_job import EngineJob
from model_build.gpu_step import job as gpu_job
from model_build.gpu_step import result as gpu_result
from model_build.write_once import write_once

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PREFIX = "engine-jobs/"
_CLAIM_FILE = re.compile(r"([0-9]{4,9})\.json")


def list_keys(s3: "S3Client", bucket: str, prefix: str) -> list[str]:
    """Return all keys that begin with `prefix`."""
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return [entry["Key"] for page in pages for entry in page.get("Contents", ())]


@dataclass(frozen=True)
class Claim:
    """An attempt at a job, counted from 1, and the id of its build."""

    attempt: int
    build_id: str


@dataclass(frozen=True)
class JobBucket:
    """The objects of one engine job in the model bucket."""

    s3: "S3Client"
    bucket: str
    digest: str

    @property
    def job_folder(self) -> str:
        """The prefix of the GPU step's input."""
        return f"{PREFIX}{self.digest}/job/"

    @property
    def raw_folder(self) -> str:
        """The prefix of the builds' outputs, without a slash at its end."""
        return f"{PREFIX}{self.digest}/raw"

    def upload(self, job: EngineJob) -> None:
        """Upload the job's files, job.json last."""
        timing = [gpu_job.TIMING_CACHE] if (job.folder / gpu_job.TIMING_CACHE).is_file() else []
        for name in [*job.files(), *timing, gpu_job.FILE]:
            self.s3.upload_file(str(job.folder / name), self.bucket, self.job_folder + name)

    def last_claim(self) -> Claim | None:
        """Return the claim of the latest attempt, or None."""
        keys = list_keys(self.s3, self.bucket, self._claims_prefix)
        claims = [
            key for key in keys if _CLAIM_FILE.fullmatch(key.removeprefix(self._claims_prefix))
        ]
        return self._read_claim(max(claims, key=_attempt_number)) if claims else None

    def claim(self, attempt: int, build_id: str) -> Claim:
        """Claim an attempt for `build_id` unless it is claimed; return the claim."""
        key = f"{self._claims_prefix}{attempt:04}.json"
        content = json.dumps({"build": build_id}).encode()
        if write_once(self.s3, bucket=self.bucket, key=key, body=content):
            return Claim(attempt, build_id)
        return self._read_claim(key)

    def download_raw(self, build_id: str, *, to: Path) -> bool:
        """Download a build's output; return whether it has a result.

        The name of the artifacts' folder ends in the build's UUID: CodeBuild's documentation does
        not say whether the project's name precedes it.
        """
        to.mkdir(parents=True)
        build_uuid = build_id.rpartition(":")[2]
        for key in list_keys(self.s3, self.bucket, f"{self.raw_folder}/"):
            folder, _, name = key.rpartition("/")
            if folder.endswith(build_uuid):
                self.s3.download_file(self.bucket, key, str(to / name))
        return (to / gpu_result.FILE).is_file()

    @property
    def _claims_prefix(self) -> str:
        return f"{PREFIX}{self.digest}/claims/"

    def _read_claim(self, key: str) -> Claim:
        """Return a claim; its build is empty if a publisher has written invalid JSON."""
        content = self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        build_id = ""
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            build_id = str(json.loads(content)["build"])
        return Claim(_attempt_number(key), build_id)


def _attempt_number(key: str) -> int:
    return int(Path(key).stem)
