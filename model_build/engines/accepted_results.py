"""Storage of engine results that passed their gate, in the model bucket or in a folder.

engines/<digest of the job>/<SHA-256 of a file>     the files of the result
engines/<digest of the job>/result.json             written last and never overwritten
engines/timing/<GPU>-<TensorRT>.cache               the timing cache of the last compilation
"""

import shutil
from pathlib import Path

from model_build.engines.engine_result import EngineResult
from model_build.errors import BuildError
from model_build.gpu_step import result as gpu_result
from model_build.gpu_step.errors import StepError
from plan.archives import ArchiveBucket
from platform_facts.rules.bucket_keys import ENGINES

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

    def __init__(self, bucket: ArchiveBucket, *, is_builder: bool) -> None:
        self._bucket, self._is_builder = bucket, is_builder

    def fetch(self, digest: str, *, to: Path) -> bool:
        """Download a job's result to the folder `to`; return False if there is none."""
        key = f"{ENGINES}{digest}/{gpu_result.FILE}"
        content = self._bucket.read(key)
        if content is None:
            return False
        try:
            result = gpu_result.parse(content, display_path=f"s3://{self._bucket.name}/{key}")
        except StepError as error:
            raise BuildError(str(error)) from None
        to.mkdir(parents=True)
        for name, sha256 in result.files().items():
            key = f"{ENGINES}{digest}/{sha256}"
            self._bucket.s3.download_file(self._bucket.name, key, str(to / name))
        (to / gpu_result.FILE).write_bytes(content)
        return True

    def accept(self, result: EngineResult) -> bool:
        """Store a builder's result; return False if the job has one already."""
        if not self._is_builder:
            return True
        prefix = f"{ENGINES}{result.result.job}/"
        for name, sha256 in result.result.files().items():
            self._upload(result.folder / name, f"{prefix}{sha256}")
        return self._bucket.write_once(f"{prefix}{gpu_result.FILE}", result.result.json_bytes())

    def timing_cache(self, name: str) -> bytes:
        """Return the timing cache of that name, empty if there is none."""
        return self._bucket.read(f"{ENGINES}{TIMING}/{name}.cache") or b""

    def keep_timing_cache(self, name: str, file: Path) -> None:
        """Store a builder's timing cache in place of the earlier one."""
        if self._is_builder:
            self._upload(file, f"{ENGINES}{TIMING}/{name}.cache")

    def _upload(self, file: Path, key: str) -> None:
        self._bucket.s3.upload_file(str(file), self._bucket.name, key)
