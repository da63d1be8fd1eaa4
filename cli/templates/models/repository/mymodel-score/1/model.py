"""The share of vowels, from the letter counts of texts."""

import numpy as np
import triton_python_backend_utils as pb_utils

VOWELS = [ord(vowel) - ord("a") for vowel in "aeiou"]


class TritonPythonModel:
    def execute(self, requests):
        return [self.respond(request) for request in requests]

    def respond(self, request):
        counts = pb_utils.get_input_tensor_by_name(request, "FEATURES").as_numpy()
        letters = np.maximum(counts.sum(axis=1, keepdims=True), 1)
        score = counts[:, VOWELS].sum(axis=1, keepdims=True) / letters
        return pb_utils.InferenceResponse([pb_utils.Tensor("SCORE", score.astype(np.float32))])
