"""Conversion of ONNX files to FP16, BF16 and INT8."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from model_build.formats.tensorrt.precisions import to_bfloat16, to_half_precision, to_int8


def _save(path: Path, name: str, nodes: Any, inputs: Any, outputs: Any, weights: Any = ()) -> None:
    graph = helper.make_graph(nodes, name, inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.save(model, path)


def _write_bert(path: Path) -> None:
    """Write a graph whose output `hidden` is also the input of the next node, as in BERT."""
    weights = helper.make_tensor("w", TensorProto.FLOAT, [3, 3], np.eye(3, dtype=np.float32) * 0.5)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["hidden"]),
        helper.make_node("MatMul", ["hidden", "w"], ["pooled"]),
    ]
    tensors = {
        name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 3])
        for name in ("x", "hidden", "pooled")
    }
    outputs = [tensors["hidden"], tensors["pooled"]]
    _save(path, "bert", nodes, [tensors["x"]], outputs, [weights])


def _run(path: Path) -> list[Any]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    outputs: list[Any] = session.run(["hidden", "pooled"], {"x": np.ones((2, 3), np.float32)})
    return outputs


def test_weights_are_fp16_and_tensors_keep_their_types(tmp_path: Path) -> None:
    _write_bert(tmp_path / "full.onnx")
    to_half_precision(tmp_path / "full.onnx", tmp_path / "half.onnx")
    half = onnx.load(tmp_path / "half.onnx")
    assert [weights.data_type for weights in half.graph.initializer] == [TensorProto.FLOAT16]
    outputs, expected_outputs = _run(tmp_path / "half.onnx"), _run(tmp_path / "full.onnx")
    for output, expected in zip(outputs, expected_outputs, strict=True):
        assert output.dtype == np.float32
        np.testing.assert_allclose(output, expected, rtol=1e-3)


def test_weights_are_bf16_and_tensors_keep_their_types(tmp_path: Path) -> None:
    _write_bert(tmp_path / "full.onnx")
    to_bfloat16(tmp_path / "full.onnx", tmp_path / "brain.onnx")
    brain = onnx.load(tmp_path / "brain.onnx")
    assert [weights.data_type for weights in brain.graph.initializer] == [TensorProto.BFLOAT16]
    x = np.full((2, 3), 1.01, np.float32)  # 1.0078125 in BF16
    outputs: Any = ReferenceEvaluator(brain).run(["hidden", "pooled"], {"x": x})
    assert [output.dtype for output in outputs] == [np.float32, np.float32]
    assert [output[0, 0] for output in outputs] == [1.0078125 / 2, 1.0078125 / 4]


def test_int8_nodes_are_symmetric_and_close(tmp_path: Path) -> None:
    _write_bert(tmp_path / "full.onnx")
    inputs = [{"x": np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)}]
    to_int8(tmp_path / "full.onnx", tmp_path / "int8.onnx", inputs)
    graph = onnx.load(tmp_path / "int8.onnx").graph
    kinds = [node.op_type for node in graph.node]
    assert kinds.count("QuantizeLinear") == kinds.count("DequantizeLinear") >= 4
    values = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    points = [values[node.input[2]] for node in graph.node if node.op_type == "QuantizeLinear"]
    assert all(point.dtype == np.int8 and not point.any() for point in points)
    paths = (tmp_path / "int8.onnx", tmp_path / "full.onnx")
    quantized, exact = (
        onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, inputs[0])
        for path in paths
    )
    for output, expected in zip(quantized, exact, strict=True):
        assert 0 < np.abs(output - expected).max() < 0.05
