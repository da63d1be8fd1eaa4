"""Tests of the option `--input` and of sample inputs."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli import inputs
from cli.errors import CommandError
from endpoint_client import CatalogEntry, Tensor
from endpoint_client._payload import to_arrays

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
    ("option", "value"),
    [
        ("X=[[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
        ("X=[1, 2]", [[1, 2]]),  # one row
        ("TEXT=hello", ["hello"]),
        ("TEXT=12", ["12"]),
        ("TEXT=a=b", ["a=b"]),
        ('TEXT=["a", "b"]', ["a", "b"]),
    ],
)
def test_input_is_json_or_text_with_a_batch_axis(option: str, value: Any) -> None:
    assert inputs.request_inputs([option], ENTRY, None) == {option.partition("=")[0]: value}


def test_inputs_from_a_json_file_and_from_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"X": [1, 2], "TEXT": "hello"}')
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8")
    options = [f"@{tmp_path}/a.json", f"FILE=@{tmp_path}/a.jpg"]
    result = inputs.request_inputs(options, ENTRY, None)
    assert result["FILE"].tolist() == [[255, 216]]
    assert {key: result[key] for key in ("X", "TEXT")} == {"X": [[1, 2]], "TEXT": ["hello"]}
    to_arrays(ENTRY, result)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("X", "'X': write NAME=VALUE, or @FILE.json"),
        ("@nowhere.json", "nowhere.json: No such file"),
        ("@", "'@': write a file after @"),
        ("FILE=@", "'FILE=@': write a file after @"),
        ("@{folder}/list.json", "write a JSON object"),
        ("@{folder}/broken.json", "is not JSON"),
    ],
)
def test_invalid_option_is_an_error(tmp_path: Path, option: str, message: str) -> None:
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(CommandError, match=message):
        inputs.request_inputs([option.format(folder=tmp_path)], ENTRY, None)


def test_input_is_set_once(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"X": [1, 2]}')
    for second in ("X=[3, 4]", f"@{tmp_path}/a.json"):
        with pytest.raises(CommandError, match="X is set twice: keep one"):
            inputs.request_inputs(["X=[1, 2]", second], ENTRY, None)


def entry_with_input(datatype: str, *shape: int) -> CatalogEntry:
    return replace(ENTRY, inputs=(Tensor("X", datatype, shape),))


@pytest.mark.parametrize("datatype", ["FP32", "INT64", "UINT8", "BOOL", "BYTES"])
@pytest.mark.parametrize("shape", [(1,), (-1, 6), (-1, 2, 3), (2, -1), (-1,)])
def test_suggested_option_is_valid(datatype: str, shape: tuple[int, ...]) -> None:
    entry = entry_with_input(datatype, *shape)
    with pytest.raises(CommandError) as raised:
        inputs.request_inputs([], entry, None)
    option, suggestion = shlex.split(str(raised.value).rpartition(" add ")[2])
    assert option == "--input"
    to_arrays(entry, inputs.request_inputs([suggestion], entry, None))
