"""Tests of golden files: inputs, expected outputs, and comparison."""

import json
from pathlib import Path

import numpy as np
import pytest

from release.delivery.errors import NotDelivered
from release.delivery.golden import (
    FILE,
    MAX_VALUES,
    Array,
    ExpectedOutput,
    Golden,
    Input,
    golden_path,
    read_all,
)


def golden(*data: float | str, allowed: float = 0.01) -> Golden:
    """Return a file with an expected output Y of one row."""
    output = ExpectedOutput(shape=[1, len(data)], data=list(data))
    return Golden(inputs={}, outputs={"Y": output}, max_relative_difference=allowed)


def row(*values: object) -> dict[str, Array]:
    return {"Y": np.array([values], np.float32)}


def test_input_values_are_repeated_to_fill_the_shape() -> None:
    array = Input(datatype="FP32", shape=[2, 3], data=[1, 2]).array()
    assert array.tolist() == [[1, 2, 1], [2, 1, 2]]
    assert array.dtype == np.float32


def test_expected_output_has_shape_and_first_values() -> None:
    kept = ExpectedOutput.of(np.arange(600, dtype=np.float32).reshape(2, 300) / 3)
    assert kept.shape == [2, 300]
    assert len(kept.data) == MAX_VALUES
    assert kept.data[:3] == [0.0, 0.333333, 0.666667]


def test_allowed_difference_is_relative_to_the_largest_value() -> None:
    assert golden(100, 1).differences(row(100.5, 0.5)) == []
    (message,) = golden(100, 1).differences(row(102, 1))
    assert message == "Y: expected 100, got 102; allowed difference 1 %"


def test_a_difference_of_zeros_is_absolute() -> None:
    assert golden(0, 0).differences(row(0.001, 0)) == []
    assert golden(0, 0).differences(row(0.1, 0)) != []


def test_nan_is_a_difference() -> None:
    assert golden(1, 1).differences(row(float("nan"), 1)) == [
        "Y: expected 1, got nan; allowed difference 1 %"
    ]


def test_other_shape_is_a_difference() -> None:
    (message,) = golden(1, 1).differences({"Y": np.ones((2, 2), np.float32)})
    assert message == "Y: expected shape [1, 2], got [2, 2]"


def test_text_must_be_equal() -> None:
    same = {"Y": np.array([[b"a", b"b"]], object)}
    assert golden("a", "b").differences(same) == []
    assert golden("a", "c").differences(same) == ["Y: expected ['a', 'c'], got ['a', 'b']"]


def test_missing_output_is_a_difference() -> None:
    assert golden(1).differences({}) == ["Y: missing"]


def test_alternatives_and_copies_use_the_file_of_their_base_model(tmp_path: Path) -> None:
    path = tmp_path / "resnet50" / FILE
    path.parent.mkdir(parents=True)
    path.touch()
    assert golden_path(tmp_path, "resnet50") == path
    assert golden_path(tmp_path, "resnet50-onnx") == path
    assert golden_path(tmp_path, "resnet50-onnx-3") == path
    assert golden_path(tmp_path, "resnet") is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{\n"inputs": "\xff"}', [" is not UTF-8: save the file as UTF-8"]),
        (b'{\n"inputs": {},}', ["2: not JSON: Expecting property name enclosed in double quotes"]),
        (b"[1]", ["1: write a mapping of keys to values"]),
        (b"", ["1: not JSON: Expecting value"]),
        (
            b'{\n"inputs": {},\n"output": {}}',
            ["3: output: unknown key; write outputs"],
        ),
        (
            b'{"inputs": {\n"X": {"datatype": "FP32", "shape": 1,\n"data": []}, "Y": {}}}',
            [
                "2: inputs.X.shape: write a valid list, not 1",
                "3: inputs.X.data: is empty: add one",
                "3: inputs.Y.datatype: missing: add this key",
                "3: inputs.Y.shape: missing: add this key",
                "3: inputs.Y.data: missing: add this key",
            ],
        ),
        (
            b'{"inputs": {"X": {"datatype": "FP32", "shape": [1],\n"data": [1,\n[2]]}}}',
            ["3: inputs.X.data.1: write a number, true, false or a text, not [2]"],
        ),
    ],
)
def test_errors_in_a_file_have_their_lines(
    tmp_path: Path, content: bytes, message: list[str]
) -> None:
    path = tmp_path / "models" / "m" / FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(NotDelivered) as refused:
        Golden.read(path)
    assert str(refused.value).splitlines() == [
        f"models/m/tests/golden.json:{line}" for line in message
    ]


def test_unreadable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotDelivered, match="cannot be read: Is a directory"):
        Golden.read(tmp_path)


def test_infinities_must_be_equal() -> None:
    expected = golden(float("-inf"), 1)
    assert expected.differences(row(float("-inf"), 1)) == []
    assert expected.differences(row(0, 1)) != []
    assert Golden.model_validate_json(json.dumps(expected.model_dump())) == expected


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        ({"datatype": "FP23", "shape": [1], "data": [1]}, "unknown datatype FP23"),
        ({"datatype": "FP32", "shape": [1], "data": ["a"]}, "cannot be FP32 of shape"),
        ({"datatype": "FP32", "shape": [-1, 4], "data": [1]}, "cannot be FP32 of shape"),
    ],
)
def test_invalid_inputs_are_an_error(tmp_path: Path, tensor: dict[str, object], text: str) -> None:
    path = tmp_path / "minilm" / FILE
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"inputs": {"X": tensor}}))
    with pytest.raises(NotDelivered, match=text) as refused:
        read_all(tmp_path)
    assert "minilm/tests/golden.json:1: inputs.X: " in str(refused.value)
