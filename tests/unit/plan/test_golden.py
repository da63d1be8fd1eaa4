"""Tests of golden files: inputs, expected outputs, and comparison."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plan.golden import (
    FILE,
    MAX_VALUES,
    Array,
    ExpectedOutput,
    Golden,
    InputTensor,
    InvalidGolden,
    check_golden_files,
    golden_path,
)


def golden(*data: float | str, allowed: float = 0.01) -> Golden:
    """Return a file with an expected output Y of one row."""
    output = ExpectedOutput(shape=[1, len(data)], data=list(data))
    return Golden(inputs={}, outputs={"Y": output}, max_relative_difference=allowed)


def row(*values: object) -> Array:
    return np.array([values], np.float32)


def test_expected_output_has_shape_and_first_values() -> None:
    output = ExpectedOutput.of(np.arange(600, dtype=np.float32).reshape(2, 300) / 3)
    assert output.shape == [2, 300]
    assert len(output.data) == MAX_VALUES
    assert output.data[:3] == [0.0, 0.333333, 0.666667]


INFINITY = float("inf")
TEXTS = np.array([[b"a", b"b"]], object)


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (golden(100, 1), row(100.5, 0.5)),  # relative to the largest value
        (golden(0, 0), row(0.001, 0)),  # absolute, if all values are 0
        (golden("a", "b"), TEXTS),
        (golden(-INFINITY, 1), row(-INFINITY, 1)),
    ],
)
def test_small_difference_is_allowed(expected: Golden, answer: Array) -> None:
    assert expected.differences({"Y": answer}) == []


@pytest.mark.parametrize(
    ("expected", "answer", "message"),
    [
        (golden(100, 1), row(102, 1), "expected 100, got 102; allowed difference 1 %"),
        (golden(0, 0), row(0.1, 0), "expected 0, got 0.1; allowed difference 1 %"),
        (golden(1, 1), row(float("nan"), 1), "expected 1, got nan; allowed difference 1 %"),
        (golden(-INFINITY, 1), row(0, 1), "expected [-inf, 1], got [0.0, 1.0]"),
        (golden("a", "c"), TEXTS, "expected ['a', 'c'], got ['a', 'b']"),
        (golden(1, 1), np.ones((2, 2), np.float32), "expected shape [1, 2], got [2, 2]"),
    ],
)
def test_other_answer_is_a_difference(expected: Golden, answer: Array, message: str) -> None:
    assert expected.differences({"Y": answer}) == [f"Y: {message}"]


@pytest.mark.parametrize(
    ("datatype", "value"),
    [
        *(("UINT8", value) for value in (300, -1, 1.5, "1", float("nan"))),
        *(("FP16", 1e6), ("FP32", "1"), ("BOOL", 2), ("BYTES", 1), ("INT64", 2**63)),
    ],
)
def test_input_that_its_datatype_would_change_is_an_error(datatype: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"does not fit into {datatype}"):
        InputTensor(datatype=datatype, shape=[1], data=[value])


def test_inputs_at_the_limits_of_their_datatype() -> None:
    data: list[Any] = [0, 2**64 - 1]
    assert InputTensor(datatype="UINT64", shape=[2], data=data).array().tolist() == data
    assert InputTensor(datatype="BF16", shape=[1], data=[1.5]).array().tolist() == [1.5]
    assert InputTensor(datatype="FP16", shape=[0], data=[-INFINITY]).array().shape == (0,)


@pytest.mark.parametrize("dtype", [np.int64, np.uint16, np.bool_])
def test_whole_numbers_must_be_equal(dtype: Any) -> None:
    labels = np.array([[1, 0]], dtype)
    expected = Golden(inputs={}).with_outputs({"Y": labels}, None)
    assert expected.differences({"Y": labels}) == []
    assert len(expected.differences({"Y": labels[:, ::-1]})) == 1


def test_labels_that_are_close_are_different() -> None:
    expected = Golden(inputs={}).with_outputs({"Y": np.array([999, 2**62 + 1])}, None)
    assert expected.differences({"Y": np.array([999, 2**62])}) != []
    pixels = np.array([200], np.uint8)
    expected = Golden(inputs={}).with_outputs({"Y": pixels}, None)
    assert expected.differences({"Y": pixels + 1}) == []


def test_empty_outputs_scalars_and_nan_are_compared() -> None:
    answer: dict[str, Array] = {
        "EMPTY": np.zeros((0, 3), np.float32),
        "SCALAR": np.array(1.5, np.float16),
        "NAN": np.array([np.nan, 1]),
    }
    expected = Golden(inputs={}).with_outputs(answer, None)
    assert Golden.model_validate_json(expected.to_json()).differences(answer) == []
    assert expected.differences(answer | {"NAN": np.array([0.0, 1])}) != []
    assert golden(1).differences({}) == ["Y: missing"]
    infinite = golden(-INFINITY, 1)
    assert Golden.model_validate_json(json.dumps(infinite.model_dump())) == infinite


def test_alternatives_and_copies_use_the_file_of_their_base_model(tmp_path: Path) -> None:
    path = tmp_path / "resnet50" / FILE
    path.parent.mkdir(parents=True)
    path.touch()
    assert golden_path(tmp_path, "resnet50") == path
    assert golden_path(tmp_path, "resnet50-onnx") == path
    assert golden_path(tmp_path, "resnet50-onnx-3") == path
    assert golden_path(tmp_path, "resnet") is None


@pytest.mark.parametrize(
    ("content", "errors"),
    [
        (b'{\n"inputs": "\xff"}', [" is not UTF-8: save the file as UTF-8"]),
        (b"", ["1: not JSON: Expecting value"]),
        (b'{"inputs": {"X": {"datatype": "FP32", "shape": [1],\n"data": [1,\n[2]]}}}',
         ["3: inputs.X.data.1: write a number, true, false or a text, not [2]"]),
    ],
)  # fmt: skip
def test_errors_in_a_file_have_their_lines(
    tmp_path: Path, content: bytes, errors: list[str]
) -> None:
    path = tmp_path / "models" / "m" / FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(InvalidGolden) as refused:
        Golden.read(path)
    assert str(refused.value).splitlines() == [
        f"models/m/tests/golden.json:{error}" for error in errors
    ]


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        ({"datatype": "FP23", "shape": [1], "data": [1]}, "unknown datatype FP23"),
        ({"datatype": "FP32", "shape": [1], "data": ["a"]}, "does not fit into FP32"),
        ({"datatype": "FP32", "shape": [-1, 4], "data": [1]}, "cannot be FP32 of shape"),
    ],
)
def test_invalid_inputs_are_an_error(tmp_path: Path, tensor: dict[str, object], text: str) -> None:
    path = tmp_path / "minilm" / FILE
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"inputs": {"X": tensor}}))
    with pytest.raises(InvalidGolden, match=text) as refused:
        check_golden_files(tmp_path)
    assert "minilm/tests/golden.json:1: inputs.X: " in str(refused.value)
    path = tmp_path / "a/b/c/request.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"inputs": {"X": 5}}')
    with pytest.raises(InvalidGolden, match=rf"^{path}:1: "):
        Golden.read(path)
    with pytest.raises(InvalidGolden, match="cannot be read: Is a directory"):
        Golden.read(tmp_path)
