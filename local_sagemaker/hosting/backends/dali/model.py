"""A stand-in for Triton's C++ dali backend: the DALI Python package on the CPU.

Its packages are in `site-packages` beside this file; `hosting.packages` installs them.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent / "site-packages"))

import triton_python_backend_utils as pb_utils
from nvidia.dali import Pipeline, types

if TYPE_CHECKING:
    from local_sagemaker.hosting.backends.stand_in import Arrays, StandIn
else:  # it is copied beside this file
    from stand_in import Arrays, StandIn


class TritonPythonModel(StandIn):
    file = "model.dali"

    def load(self, path: Path) -> None:
        self.path = path
        self.build()

    def build(self) -> None:
        self.pipeline = Pipeline.deserialize(
            filename=str(self.path),
            batch_size=self.max_batch_size,
            num_threads=1,
            device_id=types.CPU_ONLY_DEVICE_ID,
            exec_pipelined=False,  # each run returns its own output
            exec_async=False,
        )
        self.pipeline.build()

    def run_one(self, arrays: Arrays) -> Any:
        try:
            return super().run_one(arrays)
        except RuntimeError as error:
            self.build()  # a failed pipeline cannot be reused
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error)))

    def run(self, arrays: Arrays) -> Arrays:
        samples = {name: list(array) for name, array in zip(self.inputs, arrays, strict=True)}
        return [output.as_array() for output in self.pipeline.run(**samples)]

    def execute(self, requests: list[Any]) -> list[Any]:
        """Run requests one by one, so that an invalid image only fails its own request."""
        return [self.run_one(self.input_arrays(request)) for request in requests]
