"""Mean of a sentence's token vectors, scaled to length 1."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.respond(request) for request in requests]

    def respond(self, request):
        tokens = pb_utils.get_input_tensor_by_name(request, "last_hidden_state").as_numpy()
        mask = pb_utils.get_input_tensor_by_name(request, "attention_mask").as_numpy()
        weights = mask[..., None].astype(np.float32)
        mean = (tokens * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9)
        length = np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12)
        return pb_utils.InferenceResponse(
            [pb_utils.Tensor("EMBEDDING", (mean / length).astype(np.float32))]
        )
