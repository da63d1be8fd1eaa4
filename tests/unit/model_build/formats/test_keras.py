"""Keras exports and their gates, with a fake worker instead of TensorFlow."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from model_build import GateFailed
from model_build.export.gate import GateReport
from model_build.formats.keras import GraphDef, TensorFlowOnnx
from model_build.recipe_values import Gate
from tests.unit.model_build.fakes import step_context

FIELDS: dict[str, Any] = {
    "source": "export.py:f",
    "environment": "pins.txt",
    "opset": 17,
    "gate": Gate(max_absolute_difference=1e-3),
}
ONNX = TensorFlowOnnx(to="tensorflow-onnx", **FIELDS)
GRAPHDEF = GraphDef(to="graphdef", **FIELDS)
Export = Callable[..., GateReport]


def _write_doubling(path: Path) -> None:
    """Write an ONNX file with the outputs y = 2x and z = -x."""
    tensors = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 2]) for name in "xyz"
    ]
    nodes = [helper.make_node("Add", ["x", "x"], ["y"]), helper.make_node("Neg", ["x"], ["z"])]
    graph = helper.make_graph(nodes, "graph", tensors[:1], tensors[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    onnx.save(model, path)


@pytest.fixture
def export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Export:
    """Function that exports with a fake worker and returns the gate's report.

    `keras_error` and `frozen_error` are added to the outputs of Keras and of the frozen graph.
    """

    def run(
        step: TensorFlowOnnx | GraphDef, *, keras_error: float = 0, frozen_error: float = 0
    ) -> GateReport:
        def worker(_: Path, __: Path, parameters: dict[str, Any], **options: Any) -> None:
            _write_doubling(Path(parameters["output_path"]))
            shapes = json.dumps([{"batch": batch} for batch in parameters["batches"]])
            outputs = {"shapes": np.array(shapes)}
            for case, batch in enumerate(parameters["batches"]):
                x = np.full((batch, 2), case + 1, np.float32)
                outputs[f"{case}/input/x"] = x
                outputs[f"{case}/original/z"] = -x
                outputs[f"{case}/original/y"] = 2 * x + np.float32(keras_error)
                if not parameters["onnx"]:
                    outputs[f"{case}/converted/y"] = 2 * x + np.float32(frozen_error)
                    outputs[f"{case}/converted/z"] = -x
            np.savez(parameters["outputs_file"], **outputs)

        monkeypatch.setattr("model_build.export.environments.run_script", worker)
        ((_, report),) = step.generate(tmp_path / "model.out", step_context(tmp_path)).gates
        return report

    return run


def test_graphdef_outputs_are_those_of_the_worker(export: Export) -> None:
    report = export(GRAPHDEF, frozen_error=5e-4)
    assert report.max_absolute_difference == pytest.approx(5e-4, rel=1e-3)


@pytest.mark.parametrize(
    ("step", "errors"), [(ONNX, {"keras_error": 1}), (GRAPHDEF, {"frozen_error": 1})]
)
def test_difference_above_the_gate_fails(
    export: Export, step: TensorFlowOnnx | GraphDef, errors: dict[str, float]
) -> None:
    with pytest.raises(GateFailed, match=r"model\.out differs from Keras by 1\.00e\+00"):
        export(step, **errors)
