"""What a person writes behind `--input`."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli import inputs
from cli.errors import CommandError
from endpoint_client import CatalogEntry, Tensor
from endpoint_client._payload import arrays_of
from release.delivery.golden import Golden

ENTRY = CatalogEntry(
    model="m",
    version="0",
    endpoint="dev-text",
    target_model="m-0.tar.gz",
    inputs=(
        Tensor("X", "FP32", (-1, 2)),
        Tensor("TEXT", "BYTES", (-1, 1)),
        Tensor("FILE", "UINT8", (-1, -1)),
    ),
    outputs=(),
)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("X=[[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
        ("X=[1, 2]", [[1, 2]]),  # one row
        ("TEXT=hello", ["hello"]),
        ("TEXT=12", ["12"]),
        ("TEXT=a=b", ["a=b"]),
        ('TEXT=["a", "b"]', ["a", "b"]),
    ],
)
def test_a_value_is_json_or_text_and_what_lacks_the_batch_axis_is_one_row(
    written: str, value: Any
) -> None:
    assert inputs.chosen([written], ENTRY, None) == {written.partition("=")[0]: value}


def test_all_inputs_may_stand_in_a_file_and_the_bytes_of_one_be_an_input(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"X": [1, 2], "TEXT": "hello"}')
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8")
    written = [f"@{tmp_path}/a.json", f"FILE=@{tmp_path}/a.jpg"]
    result = inputs.chosen(written, ENTRY, None)
    assert result["FILE"].tolist() == [[255, 216]]
    assert {key: result[key] for key in ("X", "TEXT")} == {"X": [[1, 2]], "TEXT": ["hello"]}
    arrays_of(ENTRY, result)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("X", "'X': write NAME=VALUE, or @FILE.json"),
        ("@nowhere.json", "nowhere.json: No such file"),
        ("@", "'@': write a file after @"),
        ("FILE=@", "'FILE=@': write a file after @"),
        ("@{folder}/list.json", "write an object"),
        ("@{folder}/broken.json", "is not JSON"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, written: str, message: str) -> None:
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(CommandError, match=message):
        inputs.chosen([written.format(folder=tmp_path)], ENTRY, None)


def test_an_input_is_given_once(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"X": [1, 2]}')
    for again in ("X=[3, 4]", f"@{tmp_path}/a.json"):
        with pytest.raises(CommandError, match="X is given twice: keep one"):
            inputs.chosen(["X=[1, 2]", again], ENTRY, None)


def test_without_any_the_sample_beside_the_model_is_taken(tmp_path: Path) -> None:
    (tmp_path / "m" / "tests").mkdir(parents=True)
    (tmp_path / "m" / "tests" / "golden.json").write_text(
        '{"inputs": {"X": {"datatype": "FP32", "shape": [1, 2], "data": [0.5]}}}'
    )
    result = inputs.chosen([], ENTRY, inputs.sample(tmp_path, "m-onnx"))
    np.testing.assert_array_equal(result["X"], np.array([[0.5, 0.5]], np.float32))


def test_without_a_sample_the_line_to_write_is_shown(tmp_path: Path) -> None:
    missing: Golden | None = inputs.sample(tmp_path, "m")
    shown = r"""--input 'X=\[\[0, 0\]\]' --input 'TEXT=\[\["text"\]\]'"""
    with pytest.raises(CommandError, match=shown):
        inputs.chosen([], ENTRY, missing)


def of_one_input(datatype: str, *shape: int) -> CatalogEntry:
    return replace(ENTRY, inputs=(Tensor("X", datatype, shape),))


@pytest.mark.parametrize("datatype", ["FP32", "FP16", "INT64", "UINT8", "BOOL", "BYTES"])
@pytest.mark.parametrize("shape", [(1,), (-1, 6), (-1, 1), (-1, 2, 3), (2, -1), (-1,)])
def test_the_suggested_input_is_one_that_the_model_accepts(
    datatype: str, shape: tuple[int, ...]
) -> None:
    entry = of_one_input(datatype, *shape)
    with pytest.raises(CommandError) as refused:
        inputs.chosen([], entry, None)
    option, suggested = shlex.split(str(refused.value).rpartition(" add ")[2])
    assert option == "--input"
    arrays_of(entry, inputs.chosen([suggested], entry, None))


def test_a_model_without_a_request_is_named_wherever_its_folder_is() -> None:
    with pytest.raises(CommandError, match=r"^\S+ has no tests/golden\.json with a request: write"):
        inputs.chosen([], of_one_input("FP32", -1, 1), None)


def test_a_file_is_suggested_for_a_picture_and_is_one_that_the_model_accepts(
    tmp_path: Path,
) -> None:
    entry = of_one_input("FP32", -1, 3, 224, 224)
    with pytest.raises(CommandError) as refused:
        inputs.chosen([], entry, None)
    golden = tmp_path / "golden.json"
    golden.write_text(str(refused.value).partition(" such as ")[2])
    arrays_of(entry, inputs.chosen([], entry, Golden.read(golden)))
