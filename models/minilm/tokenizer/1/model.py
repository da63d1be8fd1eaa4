"""Sentences to token ids and attention masks, padded to the longest sentence of the request."""

import json
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils
from tokenizers import Tokenizer


class TritonPythonModel:
    def initialize(self, args):
        version = Path(args["model_repository"], args["model_version"])
        parameters = json.loads(args["model_config"])["parameters"]
        self.tokenizer = Tokenizer.from_file(str(version / "tokenizer.json"))
        self.tokenizer.enable_truncation(int(parameters["max_length"]["string_value"]))
        self.tokenizer.enable_padding()

    def execute(self, requests):
        return [self.respond(request) for request in requests]

    def respond(self, request):
        texts = pb_utils.get_input_tensor_by_name(request, "TEXT").as_numpy().reshape(-1)
        try:
            sentences = [text.decode("utf-8") for text in texts]
        except UnicodeDecodeError as error:
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(f"TEXT: {error}"))
        encoded = self.tokenizer.encode_batch(sentences)
        return pb_utils.InferenceResponse(
            [
                pb_utils.Tensor("input_ids", np.array([e.ids for e in encoded], np.int32)),
                pb_utils.Tensor(
                    "attention_mask", np.array([e.attention_mask for e in encoded], np.int32)
                ),
            ]
        )
