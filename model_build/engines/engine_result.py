"""Results of engine jobs in folders."""

from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from model_build.engines.engine_job import Arrays, EngineJob
from model_build.errors import BuildError
from model_build.gpu_step import result as gpu_result
from model_build.gpu_step.errors import StepError
from model_build.gpu_step.files import DATATYPES


@dataclass(frozen=True)
class EngineResult:
    """A complete result in `folder`; every file has the recorded SHA-256."""

    folder: Path
    result: gpu_result.JobResult

    @classmethod
    def read(cls, folder: Path, job: EngineJob) -> "EngineResult":
        """Read the result of `job` and check it against the job. Raise `BuildError`."""
        try:
            result = gpu_result.read(folder, job=job.digest)
        except StepError as error:
            raise BuildError(str(error)) from None
        outputs = [[tensor.name for tensor in case] for case in result.outputs]
        if outputs != [job.job.outputs] * len(job.job.cases):
            raise BuildError(
                f"{folder / gpu_result.FILE} has the outputs {outputs}, not the job's "
                f"{job.job.outputs} in each of {len(job.job.cases)} cases"
            )
        for tensor in (tensor for case in result.outputs for tensor in case):
            size = (folder / tensor.file).stat().st_size
            if size != prod(tensor.shape) * DATATYPES.get(tensor.datatype, -1):
                raise BuildError(
                    f"{folder / tensor.file} has {size} bytes, which are no {tensor.datatype} of "
                    f"shape {tensor.shape}"
                )
        return cls(folder, result)

    @property
    def plan(self) -> Path:
        """The file with the serialized engine."""
        return self.folder / gpu_result.PLAN

    def outputs(self) -> list[Arrays]:
        """Return the engine's outputs for each case of the job."""
        return [
            {
                tensor.name: np.frombuffer(
                    (self.folder / tensor.file).read_bytes(), tensor.datatype
                ).reshape(tensor.shape)
                for tensor in case
            }
            for case in self.result.outputs
        ]


def is_complete_result(folder: Path, job: EngineJob) -> bool:
    """Return whether a folder has a result of `job` with all its files."""
    try:
        EngineResult.read(folder, job)
    except BuildError:
        return False
    return True
