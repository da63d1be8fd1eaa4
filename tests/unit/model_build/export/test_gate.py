"""The gate: comparison of a converted model's outputs with those of the original."""

import numpy as np
import pytest
import torch

from model_build import GateFailed, TorchModel
from model_build.engines.engine_job import Arrays
from model_build.export import gate
from model_build.recipe_values import Gate

IDENTITY = TorchModel(
    module=torch.nn.Identity(),
    inputs={"x": torch.float32},
    outputs=("y",),
    axes={"x": {"batch": (1, 8), "tokens": (2, 100)}},
    sample=lambda sizes, generator: {
        "x": torch.rand(sizes["batch"], sizes["tokens"], generator=generator)
    },
)
SHAPES = [
    {"batch": 1, "tokens": 2},
    {"batch": 2, "tokens": 12},
    {"batch": 4, "tokens": 51},
    {"batch": 8, "tokens": 100},
]


def _outputs() -> list[Arrays]:
    return [{"y": inputs["x"].numpy().copy()} for inputs in gate.sample_inputs(IDENTITY, SHAPES)]


def _compare(converted: list[Arrays], allowed: float) -> gate.GateReport:
    cases = map(gate.GateCase, SHAPES, converted, _outputs())
    limit = Gate(max_absolute_difference=allowed)
    return gate.compare(cases, limit, converted_name="m.pt", original_name="PyTorch")


def _with_error(error: float, *cases: int) -> list[Arrays]:
    """Return the outputs with an error in one number of each of `cases`."""
    outputs = _outputs()
    for case in cases:
        outputs[case]["y"][-1, -1] += error
    return outputs


def test_report_has_the_largest_difference_of_all_shapes() -> None:
    report = _compare(_with_error(-0.25, 0, 1, 2, 3), 0.5)
    assert report.max_absolute_difference == pytest.approx(0.25, abs=1e-6)
    assert report.max_relative_difference == pytest.approx(0.34, abs=0.01)  # of the smallest shape
    assert report.allowed == 0.5
    assert report.shapes == SHAPES == gate.compared_sizes(IDENTITY)
    assert report.output_tensors[1] == [gate.OutputTensor("y", "FP32", (2, 12))]


def test_difference_in_one_number_fails() -> None:
    with pytest.raises(GateFailed, match=r"differs from PyTorch by 5\.00e-01, .* 1\.00e-03"):
        _compare(_with_error(0.5, 2), 1e-3)


def test_difference_equal_to_the_limit_passes() -> None:
    _compare([{"y": np.add(case["y"], 0.5, dtype=np.float64)} for case in _outputs()], 0.5)


@pytest.mark.parametrize("case", [0, 1, 3])
def test_nan_in_any_case_fails(case: int) -> None:
    with pytest.raises(GateFailed, match="differs from PyTorch by nan"):
        _compare(_with_error(np.nan, case), 1e-3)


def test_broadcastable_shape_fails() -> None:
    with pytest.raises(GateFailed, match=r"y. with shape \[1, 1, 2\], .* \[1, 2\], for"):
        _compare([{"y": case["y"][np.newaxis]} for case in _outputs()], 1)
