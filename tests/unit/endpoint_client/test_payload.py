import json
import struct
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tritonclient.http import InferenceServerClient, InferInput, InferRequestedOutput

from endpoint_client import CatalogEntry, InvalidInput, Tensor
from endpoint_client import _payload as payload
from endpoint_client._payload import arrays_of, decode, encode_generate
from tests.unit.endpoint_client.conftest import BINARY, entry_of
from tests.unit.endpoint_client.conftest import echo as answer_to

Array = npt.NDArray[Any]

DTYPES = {
    "BOOL": np.bool_,
    "UINT8": np.uint8,
    "UINT16": np.uint16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "FP16": np.float16,
    "FP32": np.float32,
    "FP64": np.float64,
}
SHAPES = arrays.array_shapes(min_dims=1, max_dims=4, max_side=4)
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)


@st.composite
def numbers(draw: st.DrawFn, *, finite: bool) -> tuple[str, Array]:
    """Draw a datatype and an array of it."""
    without_json = {"FP16"} if finite else set()
    datatype = draw(st.sampled_from(sorted(DTYPES.keys() - without_json)))
    dtype = np.dtype(DTYPES[datatype])
    numbers = arrays.from_dtype(dtype)
    elements = numbers.filter(np.isfinite) if finite else numbers
    return datatype, draw(arrays.arrays(dtype, SHAPES, elements=elements))


def encode(entry: CatalogEntry, inputs: dict[str, Any], **options: Any) -> tuple[bytes, str]:
    """Return a request with inputs as callers give them."""
    return payload.encode(entry, arrays_of(entry, inputs), **options)


def echo(inputs: dict[str, Any], *tensors: Tensor, binary: bool) -> dict[str, Array]:
    """Send the inputs through an endpoint that answers with them."""
    entry = entry_of(
        *tensors,
        outputs=tuple(
            Tensor(f"{tensor.name}_OUT", tensor.datatype, tensor.shape) for tensor in tensors
        ),
    )
    body, content_type = encode(entry, inputs, binary=binary)
    answer = answer_to(body, content_type)
    return decode(bytearray(answer.parts[0]), answer.headers["Content-Type"])


def anything(array: Array) -> tuple[int, ...]:
    return (-1,) * array.ndim


def header_of(body: bytes, content_type: str) -> tuple[dict[str, Any], bytes]:
    size = int(content_type.removeprefix(BINARY))
    header: dict[str, Any] = json.loads(body[:size])
    return header, body[size:]


def refusal(inputs: dict[str, Any], *tensors: Tensor, binary: bool = True) -> str:
    with pytest.raises(InvalidInput) as refused:
        encode(entry_of(*tensors), inputs, binary=binary)
    start = "minilm 0123456789ab: "
    assert str(refused.value).startswith(start)
    return str(refused.value).removeprefix(start)


# Round trips


@given(numbers(finite=False))
def test_numbers_come_back_from_raw_tensors_bit_for_bit(drawn: tuple[str, Array]) -> None:
    datatype, array = drawn
    answer = echo({"X": array}, Tensor("X", datatype, anything(array)), binary=True)["X_OUT"]
    assert (answer.dtype, answer.shape) == (array.dtype, array.shape)
    assert answer.tobytes() == array.tobytes()


@given(numbers(finite=True))
def test_finite_numbers_come_back_from_json(drawn: tuple[str, Array]) -> None:
    datatype, array = drawn
    answer = echo({"X": array}, Tensor("X", datatype, anything(array)), binary=False)["X_OUT"]
    assert answer.dtype == array.dtype
    np.testing.assert_array_equal(answer, array)


@given(texts=st.lists(TEXT, min_size=1, max_size=4), binary=st.booleans())
def test_strings_come_back_as_utf8_one_a_row(texts: list[str], binary: bool) -> None:
    answer = echo({"TEXT": texts}, Tensor("TEXT", "BYTES", (-1, 1)), binary=binary)["TEXT_OUT"]
    assert answer.tolist() == [[text.encode()] for text in texts]


@given(arrays.arrays(np.dtype(object), SHAPES, elements=st.binary(max_size=8)))
def test_bytes_of_any_shape_and_content_come_back(array: Array) -> None:
    tensor = Tensor("BLOB", "BYTES", anything(array))
    answer = echo({"BLOB": array}, tensor, binary=True)["BLOB_OUT"]
    assert answer.shape == array.shape
    assert answer.tolist() == array.tolist()


@given(first=numbers(finite=False), second=numbers(finite=False), text=TEXT)
def test_several_inputs_keep_apart(
    first: tuple[str, Array], second: tuple[str, Array], text: str
) -> None:
    tensors = [
        Tensor(name, each[0], anything(each[1])) for name, each in (("A", first), ("B", second))
    ]
    inputs = {"B": second[1], "TEXT": [text], "A": first[1]}
    ordered = (tensors[1], Tensor("TEXT", "BYTES", (-1, 1)), tensors[0])
    answer = echo(inputs, *ordered, binary=True)
    assert list(answer) == ["B_OUT", "TEXT_OUT", "A_OUT"]
    assert answer["A_OUT"].tobytes() == first[1].tobytes()
    assert answer["B_OUT"].tobytes() == second[1].tobytes()
    assert answer["TEXT_OUT"].tolist() == [[text.encode()]]


# The wire


def test_a_binary_request_is_a_header_and_little_endian_tensors() -> None:
    entry = entry_of(
        Tensor("IDS", "INT64", (-1, 2)),
        Tensor("TEXT", "BYTES", (-1, 1)),
        outputs=(Tensor("SCORES", "FP32", (-1,)), Tensor("LABELS", "BYTES", (-1,))),
    )
    inputs: dict[str, Any] = {"IDS": np.array([[1, -2]], np.int64), "TEXT": ["hé"]}
    header, raw = header_of(*encode(entry, inputs, binary=True))
    assert header == {
        "inputs": [
            {
                "name": "IDS",
                "shape": [1, 2],
                "datatype": "INT64",
                "parameters": {"binary_data_size": 16},
            },
            {
                "name": "TEXT",
                "shape": [1, 1],
                "datatype": "BYTES",
                "parameters": {"binary_data_size": 7},
            },
        ],
        "outputs": [
            {"name": "SCORES", "parameters": {"binary_data": True}},
            {"name": "LABELS", "parameters": {"binary_data": True}},
        ],
        "parameters": {},
    }
    assert raw == struct.pack("<qq", 1, -2) + struct.pack("<I", 3) + b"h\xc3\xa9"


def test_a_json_request_has_everything_in_it() -> None:
    entry = entry_of(
        Tensor("TEXT", "BYTES", (-1, 1)), outputs=(Tensor("EMBEDDING", "FP32", (-1, 384)),)
    )
    body, content_type = encode(entry, {"TEXT": ["hé", "two"]}, binary=False)
    assert content_type == "application/json"
    assert json.loads(body) == {
        "inputs": [{"name": "TEXT", "shape": [2, 1], "datatype": "BYTES", "data": ["hé", "two"]}],
        "outputs": [{"name": "EMBEDDING", "parameters": {"binary_data": False}}],
        "parameters": {},
    }


DATATYPES = {**DTYPES, "BF16": ml_dtypes.bfloat16, "BYTES": object}


@pytest.mark.parametrize("datatype", DATATYPES)
def test_a_binary_request_is_that_of_tritonclient(datatype: str) -> None:
    array = np.array([[1, 0], [1, 1]]).astype(DATATYPES[datatype])
    if datatype == "BYTES":
        array = np.array([[b"", b"\xff\0"], ["h\xe9".encode(), b"one"]], object)
    tensor = InferInput("X", [2, 2], datatype)
    tensor.set_data_from_numpy(array)
    outputs = [InferRequestedOutput("Y", binary_data=True)]
    body, size = InferenceServerClient.generate_request_body([tensor], outputs)
    entry = entry_of(Tensor("X", datatype, (-1, 2)), outputs=(Tensor("Y", datatype, (-1, 2)),))
    header, raw = header_of(body, f"{BINARY}{size}")
    assert header_of(*encode(entry, {"X": array})) == (header | {"parameters": {}}, raw)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("datatype", ["INT32", "FP16", "BF16", "BYTES"])
def test_outputs_may_be_written_to(datatype: str, binary: bool) -> None:
    if not binary and datatype in ("FP16", "BF16"):
        return
    array = np.array([[1, 2]]).astype(DATATYPES[datatype])
    if datatype == "BYTES":
        array = np.array([[b"a", b"b"]], object)
    output = echo({"X": array}, Tensor("X", datatype, (-1, 2)), binary=binary)["X_OUT"]
    output[0, 0] = output[0, 1]
    assert output.tolist() == [[array[0, 1]] * 2]


def test_outputs_that_are_asked_for_and_parameters_are_sent() -> None:
    entry = entry_of(
        TEXT_INPUT, outputs=(Tensor("SCORE", "FP32", (-1,)), Tensor("LABEL", "BYTES", (-1,)))
    )
    parameters = {"sequence_id": 7, "sequence_start": True, "language": "en"}
    for binary in (True, False):
        body, content_type = encode(
            entry, {"TEXT": ["a"]}, outputs=["LABEL"], parameters=parameters, binary=binary
        )
        header = header_of(body, content_type)[0] if binary else json.loads(body)
        assert header["parameters"] == parameters
        assert header["outputs"] == [{"name": "LABEL", "parameters": {"binary_data": binary}}]


def test_an_array_in_another_memory_order_is_sent_in_rows() -> None:
    array = np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3))
    answer = echo({"X": array}, Tensor("X", "INT32", (-1, 3)), binary=True)["X_OUT"]
    assert answer.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_an_answer_without_rows_has_its_shape() -> None:
    answer = echo({"X": np.zeros((0, 3), np.float32)}, Tensor("X", "FP32", (-1, 3)), binary=True)[
        "X_OUT"
    ]
    assert (answer.shape, answer.dtype) == ((0, 3), np.dtype(np.float32))


@pytest.mark.parametrize("content", [{"model_name": "minilm"}, {"outputs": []}])
def test_an_answer_without_outputs_is_empty(content: dict[str, Any]) -> None:
    body = bytearray(json.dumps(content).encode())
    assert decode(body, "application/json") == {}
    assert decode(body, f"{BINARY}{len(body)}") == {}


def test_bf16_goes_into_raw_tensors() -> None:
    array = np.array([[1.5, -2]], ml_dtypes.bfloat16)
    answer = echo({"X": array}, Tensor("X", "BF16", (-1, 2)), binary=True)["X_OUT"]
    assert (answer.dtype, answer.tolist()) == (array.dtype, [[1.5, -2]])


@pytest.mark.parametrize(
    ("value", "shape", "sent"),
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
def test_strings_become_a_column_where_the_model_takes_one_a_row(
    value: Any, shape: tuple[int, ...], sent: list[int]
) -> None:
    body, content_type = encode(
        entry_of(Tensor("TEXT", "BYTES", shape)), {"TEXT": value}, binary=True
    )
    (tensor,) = header_of(body, content_type)[0]["inputs"]
    assert tensor["shape"] == sent


# Refusals

TEXT_INPUT = Tensor("TEXT", "BYTES", (-1, 1))
IDS = Tensor("IDS", "INT64", (-1, 128))


def test_a_missing_input_is_named() -> None:
    assert refusal({}, TEXT_INPUT) == "input 'TEXT' is missing"


def test_an_unknown_input_is_refused_with_the_known_ones() -> None:
    values = {"TEXT": ["a"], "IDS": np.zeros((1, 128), np.int64), "MASK": [1]}
    assert refusal(values, TEXT_INPUT, IDS) == "no input 'MASK': write one of TEXT, IDS"


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.zeros((1, 128), np.int32), "int32"),
        (np.zeros((1, 128), np.float64), "float64"),
        ([["a"] * 128], "<U1"),
    ],
)
def test_another_dtype_is_refused_with_the_right_one(value: Any, dtype: str) -> None:
    assert refusal({"IDS": value}, IDS) == f"input 'IDS' has dtype {dtype}, give int64"


@pytest.mark.parametrize(
    ("datatype", "values", "sent"),
    [
        ("INT8", [127, -128], np.array([127, -128], np.int8)),
        ("UINT64", [2**64 - 1], np.array([2**64 - 1], np.uint64)),
        ("FP16", [1, 2048], np.array([1, 2048], np.float16)),
        ("FP32", [0.1, float("inf")], np.array([0.1, np.inf], np.float32)),
        ("FP32", (1, 0.5), np.array([1, 0.5], np.float32)),
        ("BF16", [1, 0.1], np.array([1, 0.1], ml_dtypes.bfloat16)),
        ("BOOL", [True, False], np.array([True, False])),
    ],
)
def test_a_list_of_numbers_becomes_the_models_dtype(
    datatype: str, values: Any, sent: Array
) -> None:
    tensor = Tensor("X", datatype, (-1,))
    entry = entry_of(tensor)
    assert encode(entry, {"X": values}, binary=True) == encode(entry, {"X": sent}, binary=True)


@pytest.mark.parametrize(
    ("datatype", "values", "message"),
    [
        ("INT8", [1, 128], "is not INT8: 128 is no int8"),
        ("UINT8", [-1], "is not UINT8: -1 is no uint8"),
        ("FP16", [2049], "is not FP16: 2049 is no float16"),
        ("FP16", [1.0, 1e5], "is not FP16: 100000.0 is no float16"),
        ("INT64", [1.0], "has dtype float64, give int64"),
        ("BOOL", [1], "has dtype int64, give bool"),
        ("FP32", [True], "has dtype bool, give float32"),
        ("INT64", [2**64], "has dtype object, give int64"),
    ],
)
def test_a_list_of_numbers_that_would_lose_something_is_refused(
    datatype: str, values: Any, message: str
) -> None:
    assert refusal({"X": values}, Tensor("X", datatype, (-1,))) == f"input 'X' {message}"


@pytest.mark.parametrize("shape", [(1, 127), (128,), (1, 128, 1), ()])
def test_another_shape_is_refused_with_the_right_one(shape: tuple[int, ...]) -> None:
    assert refusal({"IDS": np.zeros(shape, np.int64)}, IDS) == (
        f"input 'IDS' has shape {list(shape)}, give [-1, 128]"
    )


def test_one_string_is_no_list_of_strings() -> None:
    assert refusal({"TEXT": "hello"}, TEXT_INPUT) == "input 'TEXT' has shape [], give [-1, 1]"


def test_every_fault_is_named_at_once() -> None:
    values = {"MASK": [1], "IDS": np.zeros((2, 3), np.int32)}
    assert refusal(values, TEXT_INPUT, IDS) == (
        "input 'TEXT' is missing; "
        "no input 'MASK': write one of TEXT, IDS; "
        "input 'IDS' has dtype int32, give int64; "
        "input 'IDS' has shape [2, 3], give [-1, 128]"
    )


def test_a_fault_of_one_input_is_found_whatever_the_others_are() -> None:
    good: dict[str, Any] = {"TEXT": ["a"]}
    bad = {"IDS": np.zeros((1, 1), np.int64)}
    for inputs in ({**good, **bad}, {**bad, **good}):
        assert refusal(inputs, TEXT_INPUT, IDS) == "input 'IDS' has shape [1, 1], give [-1, 128]"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "has dtype object, give int64"),
        ([[1], [1, 2]], "is not INT64: "),
        (["a", b"\xff"], "is not INT64: "),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(value: Any, message: str) -> None:
    assert refusal({"IDS": value}, IDS).startswith(f"input 'IDS' {message}")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "is not BYTES: give str or bytes, in rows of one length, not None"),
        (["a", None], "is not BYTES: give str or bytes, in rows of one length, not None"),
        ([1], "is not BYTES: give str or bytes, in rows of one length, not 1"),
        ([["a"], ["b", "c"]], "is not BYTES: give str or bytes, in rows of one length, not ['a']"),
        (["\ud800"], "is not BYTES: 'utf-8' codec can't encode"),
    ],
)
def test_what_is_no_array_of_strings_is_refused(value: Any, message: str) -> None:
    assert refusal({"TEXT": value}, TEXT_INPUT).startswith(f"input 'TEXT' {message}")


def test_bytes_that_are_no_text_do_not_go_into_json() -> None:
    message = refusal({"X": [b"\xff"]}, Tensor("X", "BYTES", (-1,)), binary=False)
    assert message.startswith("an input or parameter has no JSON: 'utf-8' codec can't decode")


def test_an_unknown_datatype_is_refused_by_name() -> None:
    assert refusal({"X": [1.0]}, Tensor("X", "FP8", (-1,))) == (
        "input 'X' is not FP8: this client does not know the datatype"
    )


# Requests to generate


def test_a_request_to_generate_is_flat() -> None:
    entry = entry_of(TEXT_INPUT, Tensor("IDS", "INT32", (-1, 2)))
    arrays = arrays_of(entry, {"IDS": [[1, 2]], "TEXT": ["h\xe9"]})
    assert json.loads(encode_generate(entry, arrays, {"temperature": "0.1"})[0]) == {
        "TEXT": ["h\xe9"],
        "IDS": [1, 2],
        "parameters": {"temperature": "0.1"},
    }


@pytest.mark.parametrize("shape", [(1, 3), (2, 3)])
def test_a_shape_that_triton_would_not_see_in_a_flat_request_is_refused(
    shape: tuple[int, int],
) -> None:
    entry = entry_of(Tensor("IDS", "INT32", (-1, -1)))
    arrays = {"IDS": np.zeros(shape, np.int32)}
    if shape[0] == 1:
        assert json.loads(encode_generate(entry, arrays)[0])["IDS"] == [0, 0, 0]
        return
    with pytest.raises(InvalidInput, match=r"has shape \[2, 3\]: .* carries no shape: give 1 in"):
        encode_generate(entry, arrays)
