"""A stand-in for Triton's C++ onnxruntime backend: the onnxruntime Python package on the CPU."""

from pathlib import Path
from typing import TYPE_CHECKING

import onnxruntime

if TYPE_CHECKING:
    from local_sagemaker.hosting.backends.stand_in import Arrays, StandIn
else:  # it is copied beside this file
    from stand_in import Arrays, StandIn


class TritonPythonModel(StandIn):
    file = "model.onnx"

    def load(self, path: Path) -> None:
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])

    def run(self, arrays: Arrays) -> Arrays:
        inputs = dict(zip(self.inputs, arrays, strict=True))
        outputs: Arrays = self.session.run(self.outputs, inputs)
        return outputs
