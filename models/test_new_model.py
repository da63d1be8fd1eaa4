"""Configurations of `tritonsm new model --from`, loaded into a real Triton."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from local_sagemaker.serving import ServingError, TritonServer
from local_sagemaker.tests.support.raw_models import invoke, write_archive
from model_build.new_config import config_for


def save_onnx(path: Path, x: list[str | int], factor: list[str | int]) -> bytes:
    """Write a file whose output is the product of its two inputs; return its content."""
    tensors = {"x": x, "factor": factor, "y": x}
    x_info, factor_info, y_info = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in tensors.items()
    )
    node = helper.make_node("Mul", ["x", "factor"], ["y"])
    graph = helper.make_graph([node], "graph", [x_info, factor_info], [y_info])
    opset = helper.make_opsetid("", 18)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=9), path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("name", "x", "factor", "max_batch_size"),
    [
        ("scalar", ["n", 2], [], 0),
        ("axes", ["n", 2], ["m", 1], 0),
        ("batch", ["n", 2], ["n", 1], 4),
    ],
)
def test_config_of_an_onnx_file_loads_and_answers(
    archives: Path,
    server: TritonServer,
    tmp_path: Path,
    name: str,
    x: list[str | int],
    factor: list[str | int],
    max_batch_size: int,
) -> None:
    content = save_onnx(tmp_path / "model.onnx", x, factor)
    text = config_for(tmp_path / "model.onnx").text
    assert f"max_batch_size: {max_batch_size}" in text
    write_archive(archives / f"{name}.tar.gz", text, {"model.onnx": content})
    rows = np.array([[1, 2], [3, 4]], np.float32)
    factors = np.full((2, 1) if len(factor) == 2 else (1,), 3, np.float32)
    answer = invoke(server, name, {"x": rows, "factor": factors})
    np.testing.assert_array_equal(answer["y"], rows * 3)


def test_triton_refuses_an_empty_reshape_without_batches(
    archives: Path, server: TritonServer, tmp_path: Path
) -> None:
    content = save_onnx(tmp_path / "model.onnx", ["n", 2], [])
    text = config_for(tmp_path / "model.onnx").text
    text = text.replace("dims: [ 1 ]", "dims: [ 1 ] reshape { shape: [ ] }")
    write_archive(archives / "empty-reshape.tar.gz", text, {"model.onnx": content})
    with pytest.raises(ServingError, match="cannot have empty reshape for non-batching model"):
        server.load("empty-reshape.tar.gz")
