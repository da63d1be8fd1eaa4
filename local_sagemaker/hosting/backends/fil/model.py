"""A stand-in for Triton's C++ fil backend: the Treelite Python package on the CPU.

It reads the same files with the same library, and returns the outputs of fil_backend r24.09
(src/tl_model.h, src/shared_state.h). Its packages are in `site-packages` beside this file;
`hosting.packages` installs them.
"""

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent / "site-packages"))

import numpy as np
import treelite
from treelite import gtil

if TYPE_CHECKING:
    from local_sagemaker.hosting.backends.stand_in import Array, Arrays, Inputs, StandIn
else:  # it is copied beside this file
    from stand_in import Array, Arrays, Inputs, StandIn

FILES = {
    "xgboost": "xgboost.model",
    "xgboost_json": "xgboost.json",
    "xgboost_ubj": "xgboost.ubj",
    "lightgbm": "model.txt",
    "treelite_checkpoint": "checkpoint.tl",
}
MULTICLASS = 2
"""treelite::TaskType::kMultiClf (treelite 4.3, include/treelite/enum/task_type.h)."""


class TritonPythonModel(StandIn):
    datatypes = frozenset(["TYPE_FP32"])

    def initialize(self, args: dict[str, str]) -> None:
        parameters = json.loads(args["model_config"]).get("parameters", {})
        self.model = args["model_name"]
        self.values = {name: parameter["string_value"] for name, parameter in parameters.items()}
        self.type = self.values.get("model_type", "xgboost")
        if self.type not in FILES:
            self.refuse(f"model_type {self.type} is none of {', '.join(FILES)}")
        self.file = FILES[self.type]
        self.returns_class = self.read_switch("output_class")
        self.returns_probabilities = self.read_switch("predict_proba", "false")
        if self.returns_class and "threshold" not in self.values:
            self.refuse("Required parameter threshold not found in config")
        self.threshold = float(self.values.get("threshold", 0.5))
        super().initialize(args)

    def read_switch(self, name: str, default: str | None = None) -> bool:
        """Return a parameter. Source: rapids-triton, model/shared_state.hpp."""
        value = self.values.get(name, default)
        if value not in ("true", "false"):
            self.refuse(f"parameter {name} must be true or false, not {value}")
        return value == "true"

    def load(self, path: Path) -> None:
        for kind, names in (("input", self.inputs), ("output", self.outputs)):
            if names != [f"{kind}__0"]:
                self.refuse(f"the local backend has one {kind}, {kind}__0, not {', '.join(names)}")
        if self.type == "treelite_checkpoint":
            self.forest = treelite.Model.deserialize(path)
        elif self.type == "lightgbm":
            self.forest = treelite.frontend.load_lightgbm_model(path)
        elif self.type == "xgboost":
            self.forest = treelite.frontend.load_xgboost_model_legacy_binary(path)
        else:
            choice = "json" if self.type == "xgboost_json" else "ubjson"
            unknown = self.read_switch("xgboost_allow_unknown_field", "false")
            self.forest = treelite.frontend.load_xgboost_model(
                path, format_choice=choice, allow_unknown_field=unknown
            )
        header = self.forest.get_header_accessor()
        if header.get_field("num_target")[0] != 1:
            self.refuse("multi-target models are not supported")
        self.classes = int(header.get_field("num_class")[0])
        if self.returns_probabilities and header.get_field("task_type")[0] == MULTICLASS:
            is_vector = header.get_field("leaf_vector_shape")[1] > 1
            header.set_field("postprocessor", "identity_multiclass" if is_vector else "softmax")
        self.check_sizes()

    def check_sizes(self) -> None:
        """Refuse sizes that differ from the file's: the C++ backend would use wrong memory."""
        features = self.forest.num_feature
        if self.config["input"][0]["dims"] != [features]:
            self.refuse(
                f"input__0 needs dims [ {features} ], the number of features in {self.file}"
            )
        # Axes of size 1 are removed from the output's shape (shared_state.hpp, squeeze_output).
        dims = self.config["output"][0]["dims"]
        self.row_shape = [size for size in dims if size != 1]
        size = math.prod(self.predict(np.zeros((1, features), np.float32)).shape)
        if math.prod(dims) != size:
            self.refuse(f"output__0 needs dims [ {size} ], the number of outputs for a row")

    def predict(self, rows: Array) -> Array:
        """Return the outputs for rows of features."""
        scores: Array = gtil.predict(self.forest, rows, nthread=1)[:, 0, :].astype(np.float32)
        if self.returns_probabilities:
            return np.hstack([1 - scores, scores]) if self.classes == 1 else scores
        if not self.returns_class:
            return scores
        if self.classes == 1:
            return (scores > self.threshold).astype(np.float32)
        classes: Array = scores.argmax(1)
        return classes.astype(np.float32)[:, None]

    def run(self, inputs: Inputs) -> Arrays:
        rows = inputs["input__0"]
        return [self.predict(rows).reshape(len(rows), *self.row_shape)]
