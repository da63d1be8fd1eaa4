"""Encoding of requests and decoding of responses."""

import json
from typing import Any

import numpy as np
import pytest

from endpoint_client import CatalogEntry, InvalidInput, Tensor
from endpoint_client import _payload as payload
from endpoint_client._payload import decode, encode_generate, to_arrays
from tests.unit.endpoint_client.conftest import BINARY, catalog_entry


def encode(entry: CatalogEntry, inputs: dict[str, Any], **options: Any) -> tuple[bytes, str]:
    """Return the request of `invoke`."""
    return payload.encode(entry, to_arrays(entry, inputs), **options)


def split_body(body: bytes, content_type: str) -> tuple[dict[str, Any], bytes]:
    size = int(content_type.removeprefix(BINARY))
    header: dict[str, Any] = json.loads(body[:size])
    return header, body[size:]


def error_message(inputs: dict[str, Any], *tensors: Tensor, binary: bool = True) -> str:
    with pytest.raises(InvalidInput) as raised:
        encode(catalog_entry(*tensors), inputs, binary=binary)
    start = "minilm 0123456789ab: "
    assert str(raised.value).startswith(start)
    return str(raised.value).removeprefix(start)


def test_requested_outputs_and_parameters_are_sent() -> None:
    entry = catalog_entry(
        TEXT_INPUT, outputs=(Tensor("SCORE", "FP32", (-1,)), Tensor("LABEL", "BYTES", (-1,)))
    )
    parameters = {"sequence_id": 7, "sequence_start": True, "language": "en"}
    for binary in (True, False):
        body, content_type = encode(
            entry, {"TEXT": ["a"]}, outputs=["LABEL"], parameters=parameters, binary=binary
        )
        header = split_body(body, content_type)[0] if binary else json.loads(body)
        assert header["parameters"] == parameters
        assert header["outputs"] == [{"name": "LABEL", "parameters": {"binary_data": binary}}]


@pytest.mark.parametrize("content", [{"model_name": "minilm"}, {"outputs": []}])
def test_response_without_outputs_is_empty(content: dict[str, Any]) -> None:
    body = bytearray(json.dumps(content).encode())
    assert decode(body, "application/json") == {}
    assert decode(body, f"{BINARY}{len(body)}") == {}


@pytest.mark.parametrize(
    ("value", "shape", "expected"),
    [
        (["a", "b"], (-1, 1), [2, 1]),
        (["a", "b"], (-1,), [2]),
        ([["a", "b"]], (-1, 2), [1, 2]),
        ([["a"], ["b"]], (-1, 1), [2, 1]),
        (np.array(["a", "b"]), (-1, 1), [2, 1]),
        (np.array([b"a", b"b"], object), (-1, 1), [2, 1]),
        ([b"\xff", b"b"], (-1, 1), [2, 1]),
        (["a", b"\xff"], (-1, 1), [2, 1]),
    ],
)
def test_strings_become_a_column_if_the_model_takes_one_per_row(
    value: Any, shape: tuple[int, ...], expected: list[int]
) -> None:
    body, content_type = encode(
        catalog_entry(Tensor("TEXT", "BYTES", shape)), {"TEXT": value}, binary=True
    )
    (tensor,) = split_body(body, content_type)[0]["inputs"]
    assert tensor["shape"] == expected


# Rejected inputs

TEXT_INPUT = Tensor("TEXT", "BYTES", (-1, 1))
IDS = Tensor("IDS", "INT64", (-1, 128))
BYTES_EXPECTED = "is not BYTES: give str or bytes, in rows of one length, not"


class GpuTensor:
    """A fake of a PyTorch tensor in GPU memory."""

    def __array__(self, *_: Any) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


@pytest.mark.parametrize(
    ("datatype", "shape", "value", "message"),
    [
        # Another dtype
        ("INT64", (-1, 2), np.zeros((1, 2), np.int32), "has dtype int32, give int64"),
        ("INT64", (-1, 2), [["a", "b"]], "has dtype <U1, give int64"),
        ("INT64", (), None, "has dtype object, give int64"),
        ("INT64", (-1, 2), np.zeros((1, 3), np.int64), "has shape [1, 3], give [-1, 2]"),
        ("INT64", (-1, 2), np.zeros((), np.int64), "has shape [], give [-1, 2]"),
        ("BYTES", (-1, 1), "hello", "has shape [], give [-1, 1]"),
        # Numbers that the dtype cannot represent
        ("INT8", (-1,), [1, 128], "is not INT8: 128 does not fit into int8"),
        ("FP16", (-1,), [2049], "is not FP16: 2049 does not fit into float16"),
        ("INT64", (-1,), [1.0], "has dtype float64, give int64"),
        ("FP32", (-1,), [True], "has dtype bool, give float32"),
        ("INT64", (-1, 2), [[1], [1, 2]], "is not INT64: "),
        ("FP8", (-1,), [1.0], "is not FP8: this client does not support the datatype"),
        ("BYTES", (-1, 1), None, f"{BYTES_EXPECTED} None"),
        ("BYTES", (-1, 1), ["a", None], f"{BYTES_EXPECTED} None"),
        ("BYTES", (-1, 1), [["a"], ["b", "c"]], f"{BYTES_EXPECTED} ['a']"),
        ("BYTES", (-1, 1), ["\ud800"], "is not BYTES: 'utf-8' codec can't encode"),
        ("BYTES", (-1, 1), GpuTensor(), "is not BYTES: can't convert cuda:0"),
    ],
)
def test_invalid_value_is_rejected(
    datatype: str, shape: tuple[int, ...], value: Any, message: str
) -> None:
    error = error_message({"X": value}, Tensor("X", datatype, shape))
    assert error.startswith(f"input 'X' {message}")


def test_non_utf8_bytes_are_rejected_in_json() -> None:
    message = error_message({"X": [b"\xff"]}, Tensor("X", "BYTES", (-1,)), binary=False)
    assert message.startswith("an input or parameter cannot be sent as JSON: 'utf-8' codec can't")


# Generate requests


def test_generate_request_has_flat_lists() -> None:
    entry = catalog_entry(TEXT_INPUT, Tensor("IDS", "INT32", (-1, 2)))
    arrays = to_arrays(entry, {"IDS": [[1, 2]], "TEXT": ["h\xe9"]})
    assert json.loads(encode_generate(entry, arrays, {"temperature": "0.1"})[0]) == {
        "TEXT": ["h\xe9"],
        "IDS": [1, 2],
        "parameters": {"temperature": "0.1"},
    }


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (9, "the request has 9 rows, max_batch_size is 8: send fewer rows, or use invoke_many"),
        (0, "inputs have {'X': 0} rows: give each the same number, at least 1"),
    ],
)
def test_number_of_rows_is_checked_before_anything_is_sent(rows: int, problem: str) -> None:
    inputs = {"X": np.zeros((rows, 2), np.float32)}
    assert error_message(inputs, Tensor("X", "FP32", (-1, 2))) == problem
