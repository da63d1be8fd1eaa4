"""Comparison of config.pbtxt with the tensors of a model file."""

from model_build.file_tensors import FileTensor, compare
from tests.unit.model_build.conftest import WriteConfigs

CONFIG = """\
backend: "onnxruntime"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""
X = FileTensor("x", "TYPE_FP32", [-1, 2])


def _messages(write_configs: WriteConfigs, config: str, *tensors: FileTensor) -> list[str]:
    model = write_configs(m=config).models["m"]
    problems = compare(model, "input", tensors, file="1/model.onnx", batches=True)
    return [f"{location.line}:{location.column}: {message}" for location, message in problems]


def test_dynamic_dims_require_dynamic_dims_in_the_file(write_configs: WriteConfigs) -> None:
    config = CONFIG.replace("[ 2 ]", "[ -1 ]")
    assert len(_messages(write_configs, config, X)) == 1
    assert _messages(write_configs, config, FileTensor("x", None, [-1, -1])) == []


def test_reshape_is_compared_with_the_file(write_configs: WriteConfigs) -> None:
    config = CONFIG.replace("dims: [ 2 ]", "dims: [ 2 ] reshape { shape: [ ] }")
    assert _messages(write_configs, config, FileTensor("x", None, [-1])) == []
    (messages,) = _messages(write_configs, config, X)
    assert messages.endswith('input "x" has dims [], 1/model.onnx has [2] behind the batch axis')
