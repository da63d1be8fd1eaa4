from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from model_build.formats.onnx.graph import read_graph


def _value(name: str, element: int, shape: list[str | int] | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element, shape)


def _save(path: Path, model: onnx.ModelProto) -> Path:
    onnx.save(model, path)
    return path


def _model(
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    *,
    weights: list[onnx.TensorProto] | None = None,
) -> onnx.ModelProto:
    graph = helper.make_graph([], "graph", inputs, outputs, weights)
    versions = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10)


X = _value("x", TensorProto.FLOAT, ["batch", 3])


@pytest.mark.parametrize(
    ("onnx_type", "triton_type"),
    [
        (TensorProto.FLOAT16, "TYPE_FP16"),
        (TensorProto.BFLOAT16, "TYPE_BF16"),
        (TensorProto.DOUBLE, "TYPE_FP64"),
        (TensorProto.STRING, "TYPE_STRING"),
        (TensorProto.BOOL, "TYPE_BOOL"),
        (TensorProto.UINT8, "TYPE_UINT8"),
        (TensorProto.INT8, "TYPE_INT8"),
        (TensorProto.UINT64, "TYPE_UINT64"),
        (TensorProto.COMPLEX64, "COMPLEX64"),  # without an equivalent in Triton
    ],
)
def test_element_types_have_the_names_of_triton(
    tmp_path: Path, onnx_type: int, triton_type: str
) -> None:
    graph = read_graph(_save(tmp_path / "m.onnx", _model([], [_value("y", onnx_type, [1])])))
    assert graph is not None
    assert graph.outputs[0].data_type == triton_type


def test_graph_is_read_without_external_weights(tmp_path: Path) -> None:
    weights = numpy_helper.from_array(np.ones(64, np.float32), "w")
    model = _model([X], [X], weights=[weights])
    onnx.save(
        model, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0
    )
    (tmp_path / "w.bin").unlink()
    assert read_graph(tmp_path / "m.onnx") is not None


@given(st.binary(max_size=64))
def test_arbitrary_bytes_do_not_crash(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.onnx"
    path.write_bytes(content)
    graph = read_graph(path)
    assert graph is None or graph.outputs
