"""Species of irises from their measurements, with the probability of each species."""

import numpy as np
import triton_python_backend_utils as pb_utils
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression


class TritonPythonModel:
    def initialize(self, args):
        # Replace: train elsewhere, save the file beside this one, and load it here, for example
        # joblib.load(Path(args["model_repository"], args["model_version"], "model.joblib")).
        irises = load_iris()
        self.species = irises.target_names.astype(object)
        self.classifier = LogisticRegression(max_iter=1000).fit(irises.data, irises.target)

    def execute(self, requests):
        return [self.respond(request) for request in requests]

    def respond(self, request):
        rows = pb_utils.get_input_tensor_by_name(request, "MEASUREMENTS").as_numpy()
        if not np.isfinite(rows).all():
            error = pb_utils.TritonError("MEASUREMENTS: a value is not a finite number")
            return pb_utils.InferenceResponse(error=error)
        probabilities = self.classifier.predict_proba(rows)
        species = self.species[probabilities.argmax(axis=1)]
        return pb_utils.InferenceResponse(
            [
                pb_utils.Tensor("SPECIES", species.reshape(-1, 1)),
                pb_utils.Tensor("PROBABILITIES", probabilities.astype(np.float32)),
            ]
        )
