"""Stands in for Triton's C++ pytorch backend: TorchScript through the torch package on the CPU."""

import torch
from stand_in import StandIn


class TritonPythonModel(StandIn):
    file = "model.pt"

    def load(self, path):
        self.module = torch.jit.load(path, map_location="cpu").eval()

    def run(self, arrays):
        with torch.inference_mode():
            outputs = self.module(*(torch.from_numpy(array) for array in arrays))
        outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        return [output.numpy() for output in outputs]
