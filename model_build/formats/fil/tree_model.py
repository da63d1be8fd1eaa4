"""Reader of the signature and the XGBoost version of a tree model's file."""

import json
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class TreeModel:
    """The number of features, and the version of XGBoost that wrote the file; None if unknown.

    `classes` is 1 except for more than two classes; `targets` are the values of a regression.
    Sources: XGBoost, "Introduction to Model IO" (JSON schema: version, and
    learner.learner_model_param); LightGBM src/boosting/gbdt_model_text.cpp (max_feature_idx,
    num_class).
    """

    features: int | None = None
    xgboost: tuple[int, ...] | None = None
    classes: int = 1
    targets: int = 1
    booster: str = "gbtree"
    """XGBoost's `gbtree` or `dart`, which are trees, or `gblinear`."""


def read_tree_model(path: Path) -> TreeModel:
    """Return the content of an XGBoost JSON or LightGBM text file; other formats are not read."""
    if path.suffix == ".txt":
        header = dict(re.findall(r"^(max_feature_idx|num_class)=(\d+)$", _header(path), re.M))
        if "max_feature_idx" not in header:
            return TreeModel()
        return TreeModel(
            int(header["max_feature_idx"]) + 1, classes=int(header.get("num_class", 1))
        )
    if path.suffix != ".json":
        return TreeModel()
    try:
        document = json.loads(path.read_bytes())
        learner = document["learner"]
        parameters = learner["learner_model_param"]
        return TreeModel(
            int(parameters["num_feature"]),
            tuple(map(int, document.get("version", ()))) or None,
            classes=max(1, int(parameters.get("num_class", 0))),
            targets=max(1, int(parameters.get("num_target", 1))),
            booster=str(learner.get("gradient_booster", {}).get("name", "gbtree")),
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return TreeModel()


def _header(path: Path) -> str:
    """Return a LightGBM file's lines before its first tree."""
    return path.read_text(errors="replace").partition("\nTree=")[0]
