"""FP16 files that say the same, to whoever reads them."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from model_build.export.half_precision import to_half_precision


def _write(path: Path) -> None:
    """A graph whose output `hidden` is also what the next node reads, as BERT's is."""
    weights = helper.make_tensor("w", TensorProto.FLOAT, [3, 3], np.eye(3, dtype=np.float32) * 0.5)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["hidden"]),
        helper.make_node("MatMul", ["hidden", "w"], ["pooled"]),
    ]
    tensors = {
        name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 3])
        for name in ("x", "hidden", "pooled")
    }
    graph = helper.make_graph(
        nodes, "bert", [tensors["x"]], [tensors["hidden"], tensors["pooled"]], [weights]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.save(model, path)


def _run(path: Path) -> list[Any]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    outputs: list[Any] = session.run(["hidden", "pooled"], {"x": np.ones((2, 3), np.float32)})
    return outputs


def test_tensors_keep_their_types_and_weights_are_halved(tmp_path: Path) -> None:
    _write(tmp_path / "full.onnx")
    to_half_precision(tmp_path / "full.onnx", tmp_path / "half.onnx")
    half = onnx.load(tmp_path / "half.onnx")
    assert [it.data_type for it in half.graph.initializer] == [TensorProto.FLOAT16]
    for ours, theirs in zip(
        _run(tmp_path / "half.onnx"), _run(tmp_path / "full.onnx"), strict=True
    ):
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, theirs, rtol=1e-3)
