"""Models and configurations of `tritonsm new model`, loaded into a real Triton."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from cli import new_model
from local_sagemaker.serving import TritonServer
from local_sagemaker.tests.support.raw_models import invoke, write_archive
from model_build.new_config import config_for
from plan.golden import FILE, Golden


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


@pytest.mark.parametrize("kind", new_model.KINDS)
def test_model_of_each_kind_answers_its_sample(
    kind: str, tmp_path: Path, serve: Callable[[Path], Any]
) -> None:
    folder = new_model.write(f"new-{kind}", kind, models=tmp_path)
    sample = Golden.read(folder / FILE)
    inputs = {key: tensor.array() for key, tensor in sample.inputs.items()}
    assert sample.differences(serve(folder).invoke(inputs)) == []


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
