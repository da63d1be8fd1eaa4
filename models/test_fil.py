"""A tree model, as `new model --kind fil` writes it.

The local Triton has no FIL backend: a stand-in answers, by Treelite, with which FIL reads models.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cli import new_model
from release.delivery import golden

Serve = Callable[[Path], Any]
XGBOOST = [[0.8991585, 0.0509835, 0.0498580], [0.0577909, 0.8827714, 0.0594376]]
"""What XGBoost 3.0.5 answers to the rows of golden.json (train.py of the template prints it)."""


def test_a_tree_model_answers_as_xgboost(tmp_path: Path, serve: Serve, agree: Any) -> None:
    folder = new_model.write("trees", "fil", models=tmp_path)
    rows = golden.Golden.read(folder / golden.FILE).inputs["input__0"].array()
    answer = serve(folder).ask({"input__0": rows})["output__0"]
    agree("trees, Triton and XGBoost", answer, np.array(XGBOOST, np.float32), relative=1e-5)
