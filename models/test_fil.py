"""The tree model of `new model --kind fil`.

The local Triton has no FIL backend. Its replacement uses Treelite, with which FIL reads models.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cli import new_model
from plan import golden

Serve = Callable[[Path], Any]
XGBOOST = [[0.8991585, 0.0509835, 0.0498580], [0.0577909, 0.8827714, 0.0594376]]
"""The outputs of XGBoost 3.0.5 for the rows of golden.json, printed by the template's train.py."""


def test_outputs_are_close_to_xgboost(tmp_path: Path, serve: Serve, assert_close: Any) -> None:
    folder = new_model.write("trees", "fil", models=tmp_path)
    rows = golden.Golden.read(folder / golden.FILE).inputs["input__0"].array()
    output = serve(folder).invoke({"input__0": rows})["output__0"]
    expected = np.array(XGBOOST, np.float32)
    assert_close("trees, Triton and XGBoost", output, expected, relative=1e-5)
