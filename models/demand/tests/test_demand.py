"""Rows of a table: each model answers with its own weights."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

MODEL = Path(__file__).parents[1]


@pytest.mark.parametrize("shop", ["berlin", "porto"])
def test_row_answers_with_its_own_weights(shop: str, serve: Callable[[Path], Any]) -> None:
    weights = json.loads((MODEL / "weights" / f"{shop}.json").read_text())
    days = np.array([[21, 3.5, 0, 1], [4, 2.9, 1, 0]], np.float32)
    answer = serve(MODEL.with_name(f"demand-{shop}")).invoke({"DAY": days})
    expected = days @ np.array(weights["factors"]) + weights["offset"]
    np.testing.assert_allclose(answer["UNITS"][:, 0], expected, rtol=1e-5)
