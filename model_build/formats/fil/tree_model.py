"""Reader of the number of features and the XGBoost version of a tree model's file."""

import json
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class TreeModel:
    """The number of features, and the version of XGBoost that wrote the file; None if unknown.

    Sources: XGBoost, "Introduction to Model IO" (JSON schema: version, and
    learner.learner_model_param.num_feature); LightGBM src/boosting/gbdt_model_text.cpp
    (max_feature_idx).
    """

    features: int | None = None
    xgboost: tuple[int, ...] | None = None


def read_tree_model(path: Path) -> TreeModel:
    """Return the content of an XGBoost JSON or LightGBM text file; other formats are not read."""
    if path.suffix == ".txt":
        match = re.search(r"^max_feature_idx=(\d+)$", path.read_text(errors="replace"), re.M)
        return TreeModel(int(match[1]) + 1 if match else None)
    if path.suffix != ".json":
        return TreeModel()
    try:
        document = json.loads(path.read_bytes())
        features = int(document["learner"]["learner_model_param"]["num_feature"])
        return TreeModel(features, tuple(map(int, document.get("version", ()))) or None)
    except (ValueError, LookupError, TypeError, AttributeError):
        return TreeModel()
