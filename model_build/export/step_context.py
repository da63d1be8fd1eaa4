"""What every step of a build works with."""

from dataclasses import dataclass
from pathlib import Path

import platform_facts
from model_build.engines.provider import Engines
from model_build.errors import BuildError
from model_build.progress import Progress
from model_build.target import BuildTarget


@dataclass(frozen=True, kw_only=True)
class StepContext:
    """One build's surroundings.

    `weights` is the folder of the checked weights, None where there are none; `seed` then seeds
    random ones. `scratch` is for files that no archive holds. `engines` has TensorRT's.
    """

    model_folder: Path
    weights: Path | None
    seed: int
    target: BuildTarget
    scratch: Path
    progress: Progress
    engines: Engines

    @property
    def release(self) -> platform_facts.Release:
        """The Triton release that is built for."""
        return platform_facts.release(self.target.release)

    @property
    def triton_python(self) -> str:
        """The Python version that models run in (`3.12`). Raises `BuildError` if not known."""
        python = self.target.python or self.release.python
        if python is None:
            raise BuildError(f"the Python version of Triton {self.release.name} is not known")
        return python
