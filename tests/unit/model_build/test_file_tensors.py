"""config.pbtxt against what a model file says of its tensors."""

from typing import TYPE_CHECKING

from model_build.file_tensors import FileTensor, compare

if TYPE_CHECKING:
    from tests.unit.model_build.conftest import WriteConfigs

BATCHING = """\
backend: "onnxruntime"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""
FITTING = FileTensor("x", "TYPE_FP32", [-1, 2])


def _messages(
    write_configs: "WriteConfigs", config: str, *in_file: FileTensor, kind: str = "input"
) -> list[str]:
    model = write_configs(m=config).models["m"]
    result = compare(model, kind, in_file, file="1/model.onnx")
    return [f"{place.line}:{place.column}: {message}" for place, message in result]


def test_an_optional_input_of_the_file_need_not_be_declared(write_configs: "WriteConfigs") -> None:
    hint = FileTensor("hint", "TYPE_FP32", [1], optional=True)
    assert _messages(write_configs, BATCHING, FITTING, hint) == []


def test_any_size_in_the_configuration_needs_one_in_the_file(
    write_configs: "WriteConfigs",
) -> None:
    config = BATCHING.replace("[ 2 ]", "[ -1 ]")
    assert len(_messages(write_configs, config, FITTING)) == 1
    assert _messages(write_configs, config, FileTensor("x", None, [-1, -1])) == []


def test_a_reshape_is_what_the_file_sees(write_configs: "WriteConfigs") -> None:
    config = BATCHING.replace("dims: [ 2 ]", "dims: [ 2 ] reshape { shape: [ ] }")
    assert _messages(write_configs, config, FileTensor("x", None, [-1])) == []
    (messages,) = _messages(write_configs, config, FITTING)
    assert messages.endswith('input "x" has dims [], 1/model.onnx has [2] behind the batch axis')
