"""A stand-in for Triton's C++ fil backend: the Treelite Python package on the CPU.

It reads the same files with the same library, and returns the outputs of fil_backend r24.09
(src/tl_model.h). Its packages are in `site-packages` beside this file; `hosting.packages` installs
them.
"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent / "site-packages"))

import numpy as np
import treelite
from treelite import gtil

if TYPE_CHECKING:
    from local_sagemaker.hosting.backends.stand_in import Arrays, StandIn
else:  # it is copied beside this file
    from stand_in import Arrays, StandIn

FILES = {
    "xgboost": "xgboost.model",
    "xgboost_json": "xgboost.json",
    "xgboost_ubj": "xgboost.ubj",
    "lightgbm": "model.txt",
    "treelite_checkpoint": "checkpoint.tl",
}


class TritonPythonModel(StandIn):
    def initialize(self, args: dict[str, str]) -> None:
        parameters = json.loads(args["model_config"]).get("parameters", {})
        values = {name: parameter["string_value"] for name, parameter in parameters.items()}
        self.type = values.get("model_type", "xgboost")
        self.file = FILES[self.type]
        self.returns_class = values.get("output_class") == "true"
        self.threshold = float(values.get("threshold", 0.5))
        self.returns_probabilities = values.get("predict_proba") == "true"
        super().initialize(args)

    def load(self, path: Path) -> None:
        if self.type == "treelite_checkpoint":
            self.model = treelite.Model.deserialize(path)
        elif self.type == "lightgbm":
            self.model = treelite.frontend.load_lightgbm_model(path)
        elif self.type == "xgboost":
            self.model = treelite.frontend.load_xgboost_model_legacy_binary(path)
        else:
            choice = "json" if self.type == "xgboost_json" else "ubjson"
            self.model = treelite.frontend.load_xgboost_model(path, format_choice=choice)

    def run(self, arrays: Arrays) -> Arrays:
        scores = gtil.predict(self.model, arrays[0], nthread=1)[:, 0, :].astype(np.float32)
        classes = scores.shape[1]
        if self.returns_probabilities:
            return [np.hstack([1 - scores, scores]) if classes == 1 else scores]
        if not self.returns_class:
            return [scores]
        labels = scores > self.threshold if classes == 1 else scores.argmax(1)[:, None]
        return [labels.astype(np.float32)]
