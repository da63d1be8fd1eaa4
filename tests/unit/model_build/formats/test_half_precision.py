"""FP16 files that say the same, to whoever reads them."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from model_build import BuildError
from model_build.formats.tensorrt.half_precision import to_half_precision


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
    assert [each.data_type for each in half.graph.initializer] == [TensorProto.FLOAT16]
    for ours, theirs in zip(
        _run(tmp_path / "half.onnx"), _run(tmp_path / "full.onnx"), strict=True
    ):
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, theirs, rtol=1e-3)


def _cast(path: Path) -> None:
    """A mask that becomes the type of what it is multiplied with, as attention masks do."""
    nodes = [
        helper.make_node("Cast", ["mask"], ["weight"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["x", "weight"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(each, TensorProto.FLOAT, ["batch", 3]) for each in "xy")
    mask = helper.make_tensor_value_info("mask", TensorProto.INT32, ["batch", 3])
    graph = helper.make_graph(nodes, "masked", [x, mask], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.save(model, path)


def test_a_mask_of_integers_is_cast_to_fp16_too(tmp_path: Path) -> None:
    """What another converter made of it was loaded nowhere (onnxconverter-common#320)."""
    _cast(tmp_path / "full.onnx")
    to_half_precision(tmp_path / "full.onnx", tmp_path / "half.onnx")
    session = onnxruntime.InferenceSession(
        tmp_path / "half.onnx", providers=["CPUExecutionProvider"]
    )
    values = {"x": np.full((1, 3), 0.5, np.float32), "mask": np.array([[1, 0, 1]], np.int32)}
    assert session.run(["y"], values)[0].tolist() == [[0.5, 0.0, 0.5]]


def test_what_no_runtime_loads_is_refused_before_a_gpu_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path / "full.onnx")

    def broken(model: Any, **_: Any) -> Any:
        model.graph.node[0].op_type = "NoSuchOperator"
        return model

    monkeypatch.setattr("onnxruntime.transformers.float16.convert_float_to_float16", broken)
    with pytest.raises(BuildError, match=r"into FP16 \(.*NoSuchOperator.*\): write `precision"):
        to_half_precision(tmp_path / "full.onnx", tmp_path / "half.onnx")
