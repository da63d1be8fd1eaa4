"""Storage of engine results that passed their gate, in the model bucket or in a folder.

engines/<digest of the job>/<SHA-256 of a file>     the files of the result
engines/<digest of the job>/result.json             written last and never overwritten
engines/timing/<GPU>-<TensorRT>.cache               the timing cache of the last compilation
"""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from model_build.engines.engine_result import EngineResult
from model_build.errors import BuildError
from model_build.gpu_step import result as gpu_result
from model_build.gpu_step.errors import StepError
from model_build.write_once import write_once

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PREFIX = "engines/"
TIMING = "timing"


class FolderResultStore:
    """Accepted results in a local folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fetch(self, digest: str, *, to: Path) -> bool:
        """Copy a job's result to the folder `to`; return False if there is none."""
        stored_folder = self._folder / digest
        if not stored_folder.is_dir():
            return False
        shutil.copytree(stored_folder, to)
        return True

    def accept(self, result: EngineResult) -> bool:
        """Store a result; return False if the job has one already."""
        stored_folder = self._folder / result.result.job
        partial_folder = stored_folder.with_name(
            f".{stored_folder.name}-{result.result.plan_sha256}"
        )
        shutil.rmtree(partial_folder, ignore_errors=True)
        shutil.copytree(result.folder, partial_folder)
        try:
            partial_folder.rename(stored_folder)
        except OSError:  # rename does not replace a folder with files
            shutil.rmtree(partial_folder)
            return False
        return True

    def timing_cache(self, name: str) -> bytes:
        """Return the timing cache of that name, empty if there is none."""
        file = self._folder / TIMING / f"{name}.cache"
        return file.read_bytes() if file.is_file() else b""

    def keep_timing_cache(self, name: str, file: Path) -> None:
        """Store a timing cache in place of the earlier one."""
        kept_file = self._folder / TIMING / f"{name}.cache"
        kept_file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, kept_file)


class BucketResultStore:
    """Accepted results in the model bucket.

    Only builds may write there (`is_builder`). `publish` reads accepted results, and reuses the raw
    result of a job through its claim.
    """

    def __init__(self, s3: "S3Client", bucket: str, *, is_builder: bool) -> None:
        self._s3, self._bucket, self._is_builder = s3, bucket, is_builder

    def fetch(self, digest: str, *, to: Path) -> bool:
        """Download a job's result to the folder `to`; return False if there is none."""
        key = f"{PREFIX}{digest}/{gpu_result.FILE}"
        try:
            content = self._s3.get_object(Bucket=self._bucket, Key=key)["Body"].read()
        except self._s3.exceptions.NoSuchKey:
            return False
        try:
            result = gpu_result.parse(content, display_path=f"s3://{self._bucket}/{key}")
        except StepError as error:
            raise BuildError(str(error)) from None
        to.mkdir(parents=True)
        for name, sha256 in result.files().items():
            self._s3.download_file(self._bucket, f"{PREFIX}{digest}/{sha256}", str(to / name))
        (to / gpu_result.FILE).write_bytes(content)
        return True

    def accept(self, result: EngineResult) -> bool:
        """Store a builder's result; return False if the job has one already."""
        if not self._is_builder:
            return True
        prefix = f"{PREFIX}{result.result.job}/"
        for name, sha256 in result.result.files().items():
            self._s3.upload_file(str(result.folder / name), self._bucket, f"{prefix}{sha256}")
        return write_once(
            self._s3,
            bucket=self._bucket,
            key=f"{prefix}{gpu_result.FILE}",
            body=result.result.json_bytes(),
        )

    def timing_cache(self, name: str) -> bytes:
        """Return the timing cache of that name, empty if there is none."""
        key = f"{PREFIX}{TIMING}/{name}.cache"
        try:
            return self._s3.get_object(Bucket=self._bucket, Key=key)["Body"].read()
        except self._s3.exceptions.NoSuchKey:
            return b""

    def keep_timing_cache(self, name: str, file: Path) -> None:
        """Store a builder's timing cache in place of the earlier one."""
        if self._is_builder:
            self._s3.upload_file(str(file), self._bucket, f"{PREFIX}{TIMING}/{name}.cache")
