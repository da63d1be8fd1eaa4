"""Answers with the input, after as many milliseconds as its first value."""

import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Triton's interface of Python models."""

    def execute(self, requests):
        """Answer a batch."""
        arrays = [pb_utils.get_input_tensor_by_name(one, "X").as_numpy() for one in requests]
        time.sleep(int(arrays[0][0]) / 1000)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", array)]) for array in arrays]
