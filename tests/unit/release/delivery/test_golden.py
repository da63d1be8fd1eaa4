import json
from pathlib import Path

import numpy as np
import pytest

from release.delivery.errors import NotDelivered
from release.delivery.golden import (
    FILE,
    KEPT,
    Array,
    ExpectedOutput,
    Golden,
    Input,
    path_of,
    read_all,
)

ROOT = Path(__file__).parents[4]


def golden(*data: float | str, allowed: float = 0.01) -> Golden:
    """Return what an output Y of one row must be."""
    output = ExpectedOutput(shape=[1, len(data)], data=list(data))
    return Golden(inputs={}, outputs={"Y": output}, max_relative_difference=allowed)


def row(*values: object) -> dict[str, Array]:
    return {"Y": np.array([values], np.float32)}


@pytest.mark.parametrize("model", ["bert", "inception", "minilm", "resnet50"])
def test_every_shipped_model_has_a_golden_answer(model: str) -> None:
    content = Golden.read(ROOT / "models" / model / FILE)
    assert content.inputs
    assert content.outputs
    for each in content.inputs.values():
        assert list(each.array().shape) == each.shape


def test_an_input_s_values_are_repeated_until_its_shape_is_full() -> None:
    array = Input(datatype="FP32", shape=[2, 3], data=[1, 2]).array()
    assert array.tolist() == [[1, 2, 1], [2, 1, 2]]
    assert array.dtype == np.float32


def test_text_is_an_input_too() -> None:
    assert Input(datatype="BYTES", shape=[1, 1], data=["ä"]).array().tolist() == [["ä"]]


def test_an_unknown_datatype_is_named() -> None:
    with pytest.raises(ValueError, match="no datatype FP23"):
        Input(datatype="FP23", shape=[1], data=[1]).array()


def test_of_an_output_its_shape_and_first_values_are_kept() -> None:
    kept = ExpectedOutput.of(np.arange(600, dtype=np.float32).reshape(2, 300) / 3)
    assert kept.shape == [2, 300]
    assert len(kept.data) == KEPT
    assert kept.data[:3] == [0.0, 0.333333, 0.666667]


def test_an_answer_is_as_it_was_within_what_is_allowed() -> None:
    assert golden(100, 1).differences(row(100.5, 0.5)) == []
    (message,) = golden(100, 1).differences(row(102, 1))
    assert message == "Y: expected 100, got 102; allowed difference 1 %"


def test_a_difference_of_zeros_is_absolute() -> None:
    assert golden(0, 0).differences(row(0.001, 0)) == []
    assert golden(0, 0).differences(row(0.1, 0)) != []


def test_no_number_is_never_right() -> None:
    assert golden(1, 1).differences(row(float("nan"), 1)) == [
        "Y: expected 1, got nan; allowed difference 1 %"
    ]


def test_another_shape_is_wrong_whatever_stands_in_it() -> None:
    (message,) = golden(1, 1).differences({"Y": np.ones((2, 2), np.float32)})
    assert message == "Y: expected shape [1, 2], got [2, 2]"


def test_text_must_be_equal() -> None:
    same = {"Y": np.array([[b"a", b"b"]], object)}
    assert golden("a", "b").differences(same) == []
    assert golden("a", "c").differences(same) == ["Y: expected ['a', 'c'], got ['a', 'b']"]


def test_an_output_that_is_missing_is_wrong() -> None:
    assert golden(1).differences({}) == ["Y: missing"]


def test_alternatives_and_copies_are_held_against_their_folder_s(tmp_path: Path) -> None:
    written = tmp_path / "resnet50" / FILE
    written.parent.mkdir(parents=True)
    written.touch()
    assert path_of(tmp_path, "resnet50") == written
    assert path_of(tmp_path, "resnet50-onnx") == written
    assert path_of(tmp_path, "resnet50-onnx-3") == written
    assert path_of(tmp_path, "resnet") is None


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
def test_what_is_wrong_in_a_file_is_said_in_words_with_its_line(
    tmp_path: Path, content: bytes, message: list[str]
) -> None:
    path = tmp_path / "models" / "m" / FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(NotDelivered) as refused:
        Golden.read(path)
    assert str(refused.value).splitlines() == [
        f"models/m/tests/golden.json:{each}" for each in message
    ]


def test_a_file_that_is_a_folder_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(NotDelivered, match="cannot be read: Is a directory"):
        Golden.read(tmp_path)


def test_what_is_no_number_must_be_the_same() -> None:
    expected = golden(float("-inf"), 1)
    assert expected.differences(row(float("-inf"), 1)) == []
    assert expected.differences(row(0, 1)) != []
    assert Golden.model_validate_json(json.dumps(expected.model_dump())) == expected


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        ({"datatype": "FP23", "shape": [1], "data": [1]}, "no datatype FP23"),
        ({"datatype": "FP32", "shape": [1], "data": ["a"]}, "cannot be FP32 of shape"),
        ({"datatype": "FP32", "shape": [-1, 4], "data": [1]}, "cannot be FP32 of shape"),
    ],
)
def test_a_file_that_cannot_be_asked_with_is_told_before_anything_is_deployed(
    tmp_path: Path, tensor: dict[str, object], text: str
) -> None:
    path = tmp_path / "minilm" / FILE
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"inputs": {"X": tensor}}))
    with pytest.raises(NotDelivered, match=text) as refused:
        read_all(tmp_path)
    assert "minilm/tests/golden.json:1: inputs.X: " in str(refused.value)
