"""Engines as a build asks for them: found where one was accepted, otherwise compiled and judged."""

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
        """Return the GPU's. Raises `BuildError` where there is no GPU."""

    def run(self, job: EngineJob, *, to: Path, progress: Progress) -> None:
        """Run the GPU step on `job` and put what it left into the folder `to`.

        Raises `BuildError` that says what the step saw, or what kept it from running.
        """


class AcceptedResults(Protocol):
    """Results that passed their gate, by the digests of jobs."""

    def fetch(self, digest: str, *, to: Path) -> bool:
        """Put a result into the folder `to`; return False where none was accepted."""

    def accept(self, result: EngineResult) -> bool:
        """Keep a result for good; return False where another was accepted before."""


@dataclass(frozen=True)
class Engines:
    """Compiles each job once: whoever has the same job later finds the result."""

    accepted: AcceptedResults
    gpu: GpuRunner

    def provide(
        self,
        job: EngineJob,
        *,
        scratch: Path,
        judge: Callable[[EngineResult], Report],
        progress: Progress,
    ) -> tuple[EngineResult, Report]:
        """Return the result of `job` and what `judge` says of it.

        A result of the GPU step is kept only after `judge`, which raises where its outputs are
        wrong; one that was accepted before is judged too, by this build's own gate. Raises
        `BuildError`.
        """
        kept = scratch / "accepted"
        if self.accepted.fetch(job.digest, to=kept):
            progress(f"the engine is there already: job {job.digest[:12]}")
            result = EngineResult.read(kept, job)
            return result, judge(result)
        self.gpu.run(job, to=scratch / "raw", progress=progress)
        result = EngineResult.read(scratch / "raw", job)
        report = judge(result)
        if not self.accepted.accept(result) and self.accepted.fetch(job.digest, to=kept):
            result = EngineResult.read(kept, job)  # the same for all who asked at once
            report = judge(result)
        return result, report
