"""Multiplies by FACTOR, and fails for negative numbers."""

import triton_python_backend_utils as pb_utils

FACTOR = 2


class TritonPythonModel:
    """Triton's interface."""

    def execute(self, requests):
        """Return a response for each request."""
        return [self._response(request) for request in requests]

    def _response(self, request):
        numbers = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        if (numbers < 0).any():
            return pb_utils.InferenceResponse(error=pb_utils.TritonError("X is negative"))
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", numbers * FACTOR)])
