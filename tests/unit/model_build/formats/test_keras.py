"""What Keras answered, held against what its export answers; here a stand-in is the worker."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from model_build import GateFailed
from model_build.formats.keras import GraphDef, TensorFlowOnnx
from model_build.recipe_values import Gate
from tests.unit.model_build.fakes import step_context

MORE: dict[str, Any] = {
    "source": "export.py:f",
    "environment": "pins.txt",
    "opset": 17,
    "gate": Gate(max_absolute_difference=1e-3),
}
ONNX = TensorFlowOnnx(to="tensorflow-onnx", **MORE)
GRAPHDEF = GraphDef(to="graphdef", **MORE)
Export = Callable[..., tuple[tuple[str, Any], dict[str, Any]]]


def _write_doubling(path: Path) -> None:
    """An ONNX file that gives twice its input, and once more under another name."""
    tensors = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 2]) for name in "xyz"
    ]
    nodes = [helper.make_node("Add", ["x", "x"], ["y"]), helper.make_node("Neg", ["x"], ["z"])]
    graph = helper.make_graph(nodes, "graph", tensors[:1], tensors[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    onnx.save(model, path)


@pytest.fixture
def export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Export:
    """Export with a worker whose Keras and whose frozen graph are off by the given errors."""

    def run(
        step: TensorFlowOnnx | GraphDef, *, keras: float = 0, frozen: float = 0
    ) -> tuple[tuple[str, Any], dict[str, Any]]:
        orders: list[dict[str, Any]] = []

        def worker(requirements: Path, script: Path, order: dict[str, Any], **named: Any) -> None:
            assert requirements == tmp_path / "pins.txt"
            assert script.is_file()
            orders.append(order)
            _write_doubling(Path(order["output_path"]))
            shapes = json.dumps([{"batch": batch} for batch in order["batches"]])
            answers = {"shapes": np.array(shapes)}
            for case, batch in enumerate(order["batches"]):
                x = np.full((batch, 2), case + 1, np.float32)
                answers[f"{case}/input/x"] = x
                answers[f"{case}/origin/z"] = -x
                answers[f"{case}/origin/y"] = 2 * x + np.float32(keras)
                if not order["onnx"]:
                    answers[f"{case}/converted/y"] = 2 * x + np.float32(frozen)
                    answers[f"{case}/converted/z"] = -x
            np.savez(order["answers"], **answers)

        monkeypatch.setattr("model_build.export.environments.run_script", worker)
        context = step_context(tmp_path, weights=tmp_path / "weights", seed=3)
        (gate,) = step.make(tmp_path / "model.out", context).gates
        return gate, orders[0]

    return run


def test_an_onnx_file_is_run_and_compared_for_several_batches(export: Export) -> None:
    (what, report), order = export(ONNX)
    assert what == "ONNX and Keras"
    assert report.max_absolute_difference == 0
    assert report.shapes == [{"batch": 1}, {"batch": 2}, {"batch": 4}]
    assert (order["onnx"], order["opset"], order["seed"]) == (True, 17, 3)


def test_a_graphdef_is_compared_as_tensorflow_ran_it(export: Export) -> None:
    (what, report), order = export(GRAPHDEF, frozen=5e-4)
    assert what == "GraphDef and Keras"
    assert report.max_absolute_difference == pytest.approx(5e-4, rel=1e-3)
    assert report.allowed == 1e-3
    assert not order["onnx"]


def test_the_worker_is_told_where_everything_is(export: Export, tmp_path: Path) -> None:
    _, order = export(ONNX)
    assert order["source"] == f"{tmp_path}/export.py:f"
    assert order["weights"] == str(tmp_path / "weights")
    assert order["output_path"] == str(tmp_path / "model.out")


@pytest.mark.parametrize(("step", "errors"), [(ONNX, {"keras": 1}), (GRAPHDEF, {"frozen": 1})])
def test_answers_further_apart_than_the_gate_allows_are_refused(
    export: Export, step: TensorFlowOnnx | GraphDef, errors: dict[str, float]
) -> None:
    with pytest.raises(GateFailed) as refused:
        export(step, **errors)
    assert str(refused.value).startswith(
        "model.out differs from Keras by 1.00e+00, the recipe's gate allows 1.00e-03: "
    )
