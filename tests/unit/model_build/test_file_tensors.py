"""config.pbtxt against what a model file says of its tensors."""

from typing import TYPE_CHECKING

import pytest

from model_build.file_tensors import FileTensor, compare

if TYPE_CHECKING:
    from tests.unit.model_build.conftest import WriteConfigs

BATCHING = """\
backend: "onnxruntime"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""
FITTING = FileTensor("x", "TYPE_FP32", [-1, 2])


def _told(
    write_configs: "WriteConfigs", config: str, *in_file: FileTensor, kind: str = "input"
) -> list[str]:
    model = write_configs(m=config).models["m"]
    found = compare(model, kind, in_file, file="1/model.onnx")
    return [f"{place.line}:{place.column}: {message}" for place, message in found]


@pytest.mark.parametrize(
    "in_file",
    [
        FITTING,
        FileTensor("x", "TYPE_FP32", [-1, -1]),  # the file takes any size
        FileTensor("x", None, None),  # TorchScript says neither
        FileTensor("x", None, [-1, 2]),
    ],
)
def test_a_file_that_takes_what_is_declared_is_fine(
    write_configs: "WriteConfigs", in_file: FileTensor
) -> None:
    assert _told(write_configs, BATCHING, in_file) == []


@pytest.mark.parametrize(
    ("in_file", "told"),
    [
        ([FileTensor("y", "TYPE_FP32", [-1, 2])], [
            '3:11: 1/model.onnx has no input "x"; it has y',
            '3:1: 1/model.onnx needs an input "y": declare it',
        ]),
        ([], ['3:11: 1/model.onnx has no input "x"; it has none']),
        ([FileTensor("x", "TYPE_FP16", [-1, 2])], [
            '3:21: input "x" is TYPE_FP16 in 1/model.onnx'
        ]),
        ([FileTensor("x", "TYPE_FP32", [-1, 3])], [
            '3:42: input "x" has dims [2], 1/model.onnx has [3] behind the batch axis'
        ]),
        ([FileTensor("x", "TYPE_FP32", [-1, 2, 2])], [
            '3:42: input "x" has dims [2], 1/model.onnx has [2, 2] behind the batch axis'
        ]),
        ([FileTensor("x", "TYPE_FP32", [])], [
            '3:42: input "x" has dims [2], 1/model.onnx has [] behind the batch axis'
        ]),
        ([FileTensor("x", "TYPE_FP32", [4, 2])], [
            '3:42: input "x" is [4, 2] in 1/model.onnx: its first axis is not dynamic, so the '
            "model cannot batch: write max_batch_size: 0 with all dims, or export a dynamic batch "
            "axis"
        ]),
        ([FileTensor("x", "TYPE_FP16", [-1, 3])], [
            '3:21: input "x" is TYPE_FP16 in 1/model.onnx',
            '3:42: input "x" has dims [2], 1/model.onnx has [3] behind the batch axis',
        ]),
    ],
)  # fmt: skip
def test_a_difference_is_told_where_the_declaration_stands(
    write_configs: "WriteConfigs", in_file: list[FileTensor], told: list[str]
) -> None:
    assert _told(write_configs, BATCHING, *in_file) == told


def test_an_optional_input_of_the_file_need_not_be_declared(write_configs: "WriteConfigs") -> None:
    hint = FileTensor("hint", "TYPE_FP32", [1], optional=True)
    assert _told(write_configs, BATCHING, FITTING, hint) == []


def test_an_output_of_the_file_need_not_be_declared(write_configs: "WriteConfigs") -> None:
    config = BATCHING.replace("input", "output")
    more = FileTensor("more", "TYPE_FP32", [-1])
    assert _told(write_configs, config, FITTING, more, kind="output") == []


@pytest.mark.parametrize(("dims", "fits"), [([4, 2], True), ([-1, 2], True), ([2], False)])
def test_without_batching_all_axes_are_declared(
    write_configs: "WriteConfigs", dims: list[int], fits: bool
) -> None:
    config = BATCHING.replace("max_batch_size: 8", "").replace("[ 2 ]", "[ 4, 2 ]")
    told = _told(write_configs, config, FileTensor("x", "TYPE_FP32", dims))
    expected = [f'3:42: input "x" has dims [4, 2], 1/model.onnx has {dims}']
    assert told == ([] if fits else expected)


def test_any_size_in_the_configuration_needs_one_in_the_file(
    write_configs: "WriteConfigs",
) -> None:
    config = BATCHING.replace("[ 2 ]", "[ -1 ]")
    assert len(_told(write_configs, config, FITTING)) == 1
    assert _told(write_configs, config, FileTensor("x", None, [-1, -1])) == []


def test_a_reshape_is_what_the_file_sees(write_configs: "WriteConfigs") -> None:
    config = BATCHING.replace("dims: [ 2 ]", "dims: [ 2 ] reshape { shape: [ ] }")
    assert _told(write_configs, config, FileTensor("x", None, [-1])) == []
    (told,) = _told(write_configs, config, FITTING)
    assert told.endswith('input "x" has dims [], 1/model.onnx has [2] behind the batch axis')
