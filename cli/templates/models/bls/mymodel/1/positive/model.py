"""Absolute values of numbers."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.respond(request) for request in requests]

    def respond(self, request):
        numbers = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.abs(numbers))])
