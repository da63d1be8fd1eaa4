"""A model that returns its input after a delay: the input's first value, in milliseconds."""

import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Triton's interface of Python models."""

    def execute(self, requests):
        """Return a response for each request."""
        inputs = [pb_utils.get_input_tensor_by_name(request, "X") for request in requests]
        arrays = [tensor.as_numpy() for tensor in inputs]
        time.sleep(int(arrays[0][0]) / 1000)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", array)]) for array in arrays]
