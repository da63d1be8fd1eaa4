"""The provider of engines for builds: accepted results, or else newly compiled engines."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from model_build.engines.engine_job import EngineJob
from model_build.engines.engine_result import EngineResult
from model_build.gpu_step.job import TIMING_CACHE
from model_build.progress import Progress
from platform_facts import ComputeCapability

Report = TypeVar("Report")


class GpuRunner(Protocol):
    """A machine with a GPU and the TensorRT of the job's release, which runs engine jobs."""

    def compute_capability(self) -> ComputeCapability:
        """Return the GPU's compute capability. Raise `BuildError` if there is no GPU."""

    def run(self, job: EngineJob, *, to: Path, progress: Progress) -> None:
        """Run the GPU step on `job`; the folder `to` gets its output. Raise `BuildError`."""


class ResultStore(Protocol):
    """Storage of results that passed their gate, by the digests of jobs."""

    def fetch(self, digest: str, *, to: Path) -> bool:
        """Copy a job's result to the folder `to`; return False if there is none."""

    def accept(self, result: EngineResult) -> bool:
        """Store a result; return False if the job has one already."""

    def timing_cache(self, name: str) -> bytes:
        """Return the timing cache of that name, empty if there is none."""

    def keep_timing_cache(self, name: str, file: Path) -> None:
        """Store a timing cache in place of the earlier one."""


@dataclass(frozen=True)
class Engines:
    """Provider of engines that compiles each job once."""

    accepted: ResultStore
    gpu: GpuRunner

    def provide(
        self,
        job: EngineJob,
        *,
        scratch: Path,
        check_outputs: Callable[[EngineResult], Report],
        progress: Progress,
    ) -> tuple[EngineResult, Report]:
        """Return the result of `job` and the report of `check_outputs`.

        `check_outputs` is this build's gate, which raises `GateFailed`. It also checks accepted
        results; results of the GPU step are accepted after the check. Raise `BuildError`.
        """
        accepted = scratch / "accepted"
        if self.accepted.fetch(job.digest, to=accepted):
            progress(f"the engine exists already: job {job.digest[:12]}")
            result = EngineResult.read(accepted, job)
            return result, check_outputs(result)
        cache = self.accepted.timing_cache(job.timing_cache)
        if cache:
            (job.folder / TIMING_CACHE).write_bytes(cache)
        self.gpu.run(job, to=scratch / "raw", progress=progress)
        result = EngineResult.read(scratch / "raw", job)
        report = check_outputs(result)
        self._keep_timing_cache(job, result, began_with=cache)
        if not self.accepted.accept(result) and self.accepted.fetch(job.digest, to=accepted):
            result = EngineResult.read(accepted, job)  # concurrent builds use the same result
            report = check_outputs(result)
        return result, report

    def _keep_timing_cache(
        self, job: EngineJob, result: EngineResult, *, began_with: bytes
    ) -> None:
        """Store the timing cache after a compilation that began with ours.

        Publishers can write the files of a job, so that another cache could be theirs.
        """
        digest = hashlib.sha256(began_with).hexdigest() if began_with else ""
        file = result.folder / TIMING_CACHE
        if file.is_file() and result.result.timing_cache == digest:
            self.accepted.keep_timing_cache(job.timing_cache, file)
