"""The gate alone, with arrays for what the two forms of a model answer."""

import numpy as np
import pytest
import torch

from model_build import GateFailed, TorchModel
from model_build.engines.engine_job import Arrays
from model_build.export import gate
from model_build.recipe_values import Gate

SAME = TorchModel(
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


def _answers() -> list[Arrays]:
    return [{"y": inputs["x"].numpy().copy()} for inputs in gate.sample_inputs(SAME, SHAPES)]


def _compare(converted: list[Arrays], allowed: float) -> gate.GateReport:
    cases = map(gate.Case, SHAPES, converted, _answers())
    limit = Gate(max_absolute_difference=allowed)
    return gate.compare(cases, limit, converted="m.pt", origin="PyTorch")


def _with_error(error: float, *cases: int) -> list[Arrays]:
    """Answers that are wrong in one number of some cases."""
    answers = _answers()
    for case in cases:
        answers[case]["y"][-1, -1] += error
    return answers


def test_the_report_has_the_largest_difference_over_all_shapes() -> None:
    report = _compare(_with_error(-0.25, 0, 1, 2, 3), 0.5)
    assert report.max_absolute_difference == pytest.approx(0.25, abs=1e-6)
    assert report.max_relative_difference == pytest.approx(0.34, abs=0.01)  # the smallest
    assert report.allowed == 0.5
    assert report.shapes == SHAPES == gate.compared_sizes(SAME)
    assert report.answers[1] == [gate.OutputTensor("y", "FP32", (2, 12))]


def test_a_difference_in_one_number_of_one_shape_is_refused() -> None:
    with pytest.raises(GateFailed) as refused:
        _compare(_with_error(0.5, 2), 1e-3)
    assert str(refused.value) == (
        "m.pt differs from PyTorch by 5.00e-01, the recipe's gate allows 1.00e-03: nothing is "
        "published. Fix the export, or widen `gate` in the recipe and give the reason"
    )


def test_a_difference_that_is_just_allowed_passes() -> None:
    _compare([{"y": np.add(case["y"], 0.5, dtype=np.float64)} for case in _answers()], 0.5)


@pytest.mark.parametrize("at", [0, 1, 3])
def test_an_answer_that_is_no_number_is_refused_whatever_comes_after_it(at: int) -> None:
    with pytest.raises(GateFailed, match="differs from PyTorch by nan"):
        _compare(_with_error(np.nan, at), 1e-3)


def test_an_answer_of_another_shape_is_refused_even_if_numpy_could_compare_it() -> None:
    with pytest.raises(GateFailed) as refused:
        _compare([{"y": case["y"][np.newaxis]} for case in _answers()], 1)
    assert str(refused.value) == (
        'm.pt gives "y" with shape [1, 1, 2], PyTorch with [1, 2], for inputs of '
        "{'batch': 1, 'tokens': 2}: nothing is published. Fix the export"
    )
