"""Counts of the letters a to z in texts."""

from string import ascii_lowercase

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.respond(request) for request in requests]

    def respond(self, request):
        texts = pb_utils.get_input_tensor_by_name(request, "TEXT").as_numpy().reshape(-1)
        counts = [
            [text.lower().count(letter.encode()) for letter in ascii_lowercase] for text in texts
        ]
        features = np.array(counts, np.float32).reshape(len(texts), len(ascii_lowercase))
        return pb_utils.InferenceResponse([pb_utils.Tensor("FEATURES", features)])
