"""The provider of engines for builds: accepted results, or else newly compiled engines."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from model_build.engines.engine_job import EngineJob
from model_build.engines.engine_result import EngineResult
from model_build.progress import Progress
from platform_facts import ComputeCapability

Report = TypeVar("Report")


class GpuRunner(Protocol):
    """A machine with a GPU and the TensorRT of the job's release, which runs engine jobs."""

    def compute_capability(self) -> ComputeCapability:
        """Return the GPU's compute capability. Raises `BuildError` if there is no GPU."""

    def run(self, job: EngineJob, *, to: Path, progress: Progress) -> None:
        """Run the GPU step on `job`; the folder `to` gets its output. Raises `BuildError`."""


class ResultStore(Protocol):
    """Storage of results that passed their gate, by the digests of jobs."""

    def fetch(self, digest: str, *, to: Path) -> bool:
        """Copy a job's result to the folder `to`; return False if there is none."""

    def accept(self, result: EngineResult) -> bool:
        """Store a result; return False if the job has one already."""


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
        results; results of the GPU step are accepted after the check. Raises `BuildError`.
        """
        accepted = scratch / "accepted"
        if self.accepted.fetch(job.digest, to=accepted):
            progress(f"the engine exists already: job {job.digest[:12]}")
            result = EngineResult.read(accepted, job)
            return result, check_outputs(result)
        self.gpu.run(job, to=scratch / "raw", progress=progress)
        result = EngineResult.read(scratch / "raw", job)
        report = check_outputs(result)
        if not self.accepted.accept(result) and self.accepted.fetch(job.digest, to=accepted):
            result = EngineResult.read(accepted, job)  # concurrent builds use the same result
            report = check_outputs(result)
        return result, report
