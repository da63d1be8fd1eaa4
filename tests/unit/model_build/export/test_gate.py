"""The gate alone, with a stand-in for the converted model."""

import numpy as np
import pytest
import torch

from model_build import GateFailed, TorchModel
from model_build.export import gate
from model_build.recipe import Gate

SAME = TorchModel(
    module=torch.nn.Identity(),
    inputs={"x": torch.float32},
    outputs=("y",),
    axes={"x": {"batch": (1, 8), "tokens": (2, 100)}},
    sample=lambda sizes, generator: {
        "x": torch.rand(sizes["batch"], sizes["tokens"], generator=generator)
    },
)


def _compare(run: gate.Run, allowed: float) -> gate.GateReport:
    return gate.compare(
        gate.Form(name="m.pt", run=run),
        gate.pytorch(SAME),
        SAME,
        Gate(max_absolute_difference=allowed),
        shapes=gate.shapes_of(SAME),
    )


def _run_with(error: float) -> gate.Run:
    """A converted model that is wrong in one number of its answers, by `error`."""

    def run(inputs: dict[str, torch.Tensor]) -> list[gate.Array]:
        answer = inputs["x"].numpy().copy()
        answer[-1, -1] += error
        return [answer]

    return run


def test_the_report_has_the_largest_difference_over_all_shapes() -> None:
    report = _compare(_run_with(-0.25), 0.5)
    assert report.max_absolute_difference == pytest.approx(0.25, abs=1e-6)
    assert report.max_relative_difference == pytest.approx(0.34, abs=0.01)  # the smallest
    assert report.allowed == 0.5
    assert report.shapes == [
        {"batch": 1, "tokens": 2},
        {"batch": 2, "tokens": 12},
        {"batch": 4, "tokens": 51},
        {"batch": 8, "tokens": 100},
    ]


def test_a_difference_in_one_number_of_one_shape_is_refused() -> None:
    def run(inputs: dict[str, torch.Tensor]) -> list[gate.Array]:
        return _run_with(0.5 if inputs["x"].shape == (4, 51) else 0)(inputs)

    with pytest.raises(GateFailed) as refused:
        _compare(run, 1e-3)
    assert str(refused.value) == (
        "m.pt differs from PyTorch by 5.00e-01, the recipe's gate allows 1.00e-03: nothing is "
        "published. Fix the export, or widen `gate` in the recipe and say why"
    )


def test_a_difference_that_is_just_allowed_passes() -> None:
    def run(inputs: dict[str, torch.Tensor]) -> list[gate.Array]:
        return [np.add(inputs["x"].numpy(), 0.5, dtype=np.float64)]

    _compare(run, 0.5)


@pytest.mark.parametrize("at", [0, 1, 3])
def test_an_answer_that_is_no_number_is_refused_whatever_comes_after_it(at: int) -> None:
    calls: list[None] = []

    def run(inputs: dict[str, torch.Tensor]) -> list[gate.Array]:
        calls.append(None)
        return _run_with(np.nan if len(calls) == at + 1 else 0)(inputs)

    with pytest.raises(GateFailed, match="differs from PyTorch by nan"):
        _compare(run, 1e-3)


def test_an_answer_of_another_shape_is_refused_even_if_numpy_could_compare_it() -> None:
    def run(inputs: dict[str, torch.Tensor]) -> list[gate.Array]:
        return [inputs["x"].numpy()[np.newaxis]]

    with pytest.raises(GateFailed) as refused:
        _compare(run, 1)
    assert str(refused.value) == (
        'm.pt gives "y" with shape [1, 1, 2], PyTorch with [1, 2], for inputs of '
        "{'batch': 1, 'tokens': 2}: nothing is published. Fix the export"
    )


def test_an_answer_with_an_output_too_many_is_an_error() -> None:
    def run(inputs: dict[str, torch.Tensor]) -> list[gate.Array]:
        return [inputs["x"].numpy(), inputs["x"].numpy()]

    with pytest.raises(ValueError, match="argument 2 is shorter"):
        _compare(run, 1)


def test_two_comparisons_see_the_same_inputs() -> None:
    seen: list[gate.Array] = []

    def run(inputs: dict[str, torch.Tensor]) -> list[gate.Array]:
        seen.append(inputs["x"].numpy())
        return [inputs["x"].numpy()]

    for _ in range(2):
        _compare(run, 1)
    assert len(seen) == 8
    assert all(np.array_equal(*pair) for pair in zip(seen[:4], seen[4:], strict=True))
