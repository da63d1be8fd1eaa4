"""Square roots of numbers; for negative numbers, the model `positive` is called first (BLS)."""

import hashlib
import json
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils

# Replace this with the configuration of the model that you call. The one here returns absolute
# values. Its file is in the folder positive/ beside this file; an ONNX model has
# "backend": "onnxruntime" and the file model.onnx, which a recipe's `copy` step writes.
POSITIVE = {
    "backend": "python",
    "max_batch_size": 64,
    "input": [{"name": "X", "data_type": "TYPE_FP32", "dims": [1]}],
    "output": [{"name": "Y", "data_type": "TYPE_FP32", "dims": [1]}],
}
FILE = "model.py"


class TritonPythonModel:
    def initialize(self, args):
        # Two versions of this archive may be loaded at once, and need different names for the model
        # that they call: the name is derived from the archive's own folder.
        folder = Path(args["model_repository"], args["model_version"])
        self.positive = f"positive-{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"
        files = {f"file:1/{FILE}": (folder / "positive" / FILE).read_bytes()}
        pb_utils.load_model(model_name=self.positive, config=json.dumps(POSITIVE), files=files)

    def execute(self, requests):
        return [self.respond(request) for request in requests]

    def respond(self, request):
        numbers = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        if (numbers < 0).any():
            call = pb_utils.InferenceRequest(
                model_name=self.positive,
                requested_output_names=["Y"],
                inputs=[pb_utils.Tensor("X", numbers)],
            )
            answer = call.exec()
            if answer.has_error():
                return pb_utils.InferenceResponse(error=answer.error())
            numbers = pb_utils.get_output_tensor_by_name(answer, "Y").as_numpy()
        return pb_utils.InferenceResponse([pb_utils.Tensor("ROOT", np.sqrt(numbers))])

    def finalize(self):
        pb_utils.unload_model(model_name=self.positive)
