"""Stands in for Triton's C++ onnxruntime backend: the onnxruntime Python package on the CPU."""

import onnxruntime
from stand_in import StandIn


class TritonPythonModel(StandIn):
    file = "model.onnx"

    def load(self, path):
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])

    def run(self, arrays):
        return self.session.run(self.outputs, dict(zip(self.inputs, arrays, strict=True)))
