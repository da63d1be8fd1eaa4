"""A stand-in for Triton's C++ dali backend: the DALI Python package on the CPU.

Its packages are in `site-packages` beside this file; `hosting.packages` installs them.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent / "site-packages"))

import numpy as np
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
        threads = self.config["parameters"].get("num_threads")  # source: src/parameters.h
        self.num_threads = int(threads["string_value"]) if threads else -1  # the file's
        self.build()
        provided = self.pipeline.output_dtype()  # None for types that the pipeline does not declare
        if len(provided) != len(self.outputs):
            self.refuse(f"config has {len(self.outputs)} outputs, the pipeline {len(provided)}")
        for tensor, dtype in zip(self.config["output"], provided, strict=True):
            datatype = tensor["data_type"] if dtype is None else triton_type(dtype)
            if datatype != tensor["data_type"]:  # source: src/config_tools, ProcessDtypeConfig
                self.refuse(
                    f"configuration expects datatype {tensor['data_type']} for output "
                    f"'{tensor['name']}', pipeline provides {datatype}"
                )

    def build(self) -> None:
        self.pipeline = Pipeline.deserialize(
            filename=str(self.path),
            **({"batch_size": self.max_batch_size} if self.max_batch_size else {}),
            num_threads=self.num_threads,
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


def triton_type(dtype: types.DALIDataType) -> str:
    """Return Triton's data type for DALI's."""
    return f"TYPE_{np.dtype(types.to_numpy_type(dtype)).name.upper().replace('FLOAT', 'FP')}"
