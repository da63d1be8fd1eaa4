"""The result of an engine job in a folder, as the GPU step left it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from model_build.engines.engine_job import Arrays, EngineJob
from model_build.errors import BuildError
from model_build.gpu_step import result as step
from model_build.gpu_step.errors import StepError


@dataclass(frozen=True)
class EngineResult:
    """A whole result in `folder`: every file has the content that the step wrote."""

    folder: Path
    result: step.Result

    @classmethod
    def read(cls, folder: Path, job: EngineJob) -> "EngineResult":
        """Read and check the result of `job`. Raises `BuildError`."""
        try:
            return cls(folder, step.read(folder, job=job.digest))
        except StepError as error:
            raise BuildError(str(error)) from None

    @property
    def plan(self) -> Path:
        """The serialized engine, which nobody may load anywhere but on such a GPU."""
        return self.folder / step.PLAN

    def answers(self) -> list[Arrays]:
        """Return what the engine gave for each case of the job."""
        return [
            {
                it.name: np.frombuffer((self.folder / it.file).read_bytes(), it.datatype).reshape(
                    it.shape
                )
                for it in case
            }
            for case in self.result.outputs
        ]
