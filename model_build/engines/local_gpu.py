"""Engine jobs on this machine's GPU."""

import subprocess
import sys
from pathlib import Path

from model_build.engines.engine_job import EngineJob
from model_build.errors import BuildError
from model_build.gpu_step.driver import Driver
from model_build.gpu_step.errors import StepError
from model_build.progress import Progress
from platform_facts import ComputeCapability


class LocalGpu:
    """Runner of engine jobs as local processes, with the installed `tensorrt`."""

    def compute_capability(self) -> ComputeCapability:
        """Return the first GPU's compute capability. Raise `BuildError` without driver or GPU."""
        try:
            return ComputeCapability.parse(Driver().compute_capability)
        except StepError as error:
            raise BuildError(
                f"{error}. Deploy, or `publish` to a deployed stage, which compiles in CodeBuild; "
                "or build for a cpu target, which serves the model as ONNX"
            ) from None

    def run(self, job: EngineJob, *, to: Path, progress: Progress) -> None:
        """Run the GPU step and forward its output to `progress`. Raise `BuildError`."""
        error = ""
        with subprocess.Popen(
            [sys.executable, "-m", "model_build.gpu_step", str(job.folder), str(to)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                log = line.rstrip()
                error = log.removeprefix("error: ") if log.startswith("error: ") else error
                progress(log)
        if process.returncode:
            failed = f"the GPU step ended with exit code {process.returncode}: see above"
            raise BuildError(error or failed)
