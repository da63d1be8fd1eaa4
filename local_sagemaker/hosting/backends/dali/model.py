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
    from local_sagemaker.hosting.backends.stand_in import NUMBERS, Arrays, Inputs, StandIn
else:  # it is copied beside this file
    from stand_in import NUMBERS, Arrays, Inputs, StandIn


class TritonPythonModel(StandIn):
    file = "model.dali"
    datatypes = NUMBERS  # source: dali_backend r24.09, src/config_tools/config_tools.cc
    has_ragged_inputs = True

    def load(self, path: Path) -> None:
        self.path = path
        self.build()
        if self.pipeline.num_outputs != len(self.outputs):
            self.refuse(
                f"model config has {len(self.outputs)} outputs, the pipeline "
                f"{self.pipeline.num_outputs}"
            )

    def build(self) -> None:
        self.pipeline = Pipeline.deserialize(
            filename=str(self.path),
            **({"batch_size": self.max_batch_size} if self.max_batch_size else {}),
            num_threads=1,
            device_id=types.CPU_ONLY_DEVICE_ID,
            exec_pipelined=False,  # each run returns its own output
            exec_async=False,
        )
        self.pipeline.build()

    def run(self, inputs: Inputs) -> Arrays:
        samples = {name: list(array) for name, array in inputs.items()}
        try:
            return [output.as_array() for output in self.pipeline.run(**samples)]
        except RuntimeError:
            self.build()  # a failed pipeline cannot be reused
            raise

    def execute(self, requests: list[Any]) -> list[Any]:
        """Run requests one by one, so that an invalid image only fails its own request."""
        return [self._execute_one(request) for request in requests]

    def _execute_one(self, request: Any) -> Any:
        requested = len(request.requested_output_names())
        if requested != len(self.outputs):  # source: ValidateRequestedOutputs
            message = (
                f"Number of outputs expected by the requests ({requested}) does not match the "
                f"number of outputs from DALI pipeline ({len(self.outputs)})."
            )
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(message))
        return super().execute([request])[0]
