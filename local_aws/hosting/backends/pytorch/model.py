"""Stands in for Triton's C++ pytorch backend: TorchScript through the torch package on the CPU."""

import json
from pathlib import Path

import numpy as np
import torch
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        return config

    def initialize(self, args):
        config = json.loads(args["model_config"])
        file = config.get("default_model_filename") or "model.pt"
        path = Path(args["model_repository"], args["model_version"], file)
        self.module = torch.jit.load(path, map_location="cpu").eval()
        self.inputs = [tensor["name"] for tensor in config["input"]]
        self.outputs = [tensor["name"] for tensor in config["output"]]
        self.batches = config["max_batch_size"] > 0

    def execute(self, requests):
        """Run all requests as one batch, as the C++ backend does."""
        given = [
            [pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in self.inputs]
            for request in requests
        ]
        if not self.batches:
            return [self.respond(self.run(arrays)) for arrays in given]
        ends = np.cumsum([len(arrays[0]) for arrays in given])[:-1]
        whole = self.run([np.concatenate(column) for column in zip(*given, strict=True)])
        parts = zip(*(np.split(output, ends) for output in whole), strict=True)
        return [self.respond(part) for part in parts]

    def run(self, arrays):
        with torch.inference_mode():
            outputs = self.module(*(torch.from_numpy(array) for array in arrays))
        outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        return [output.numpy() for output in outputs]

    def respond(self, arrays):
        tensors = zip(self.outputs, arrays, strict=True)
        return pb_utils.InferenceResponse([pb_utils.Tensor(*tensor) for tensor in tensors])
