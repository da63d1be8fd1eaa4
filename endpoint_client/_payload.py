"""Encoding of arrays to Triton's request bodies, and decoding of responses to arrays."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tritonclient import utils

from endpoint_client._catalog import CatalogEntry, Tensor
from endpoint_client._errors import InvalidInput

Array = npt.NDArray[Any]
Inputs = Mapping[str, Array | Sequence[Any]]
Parameters = Mapping[str, str | int | float | bool]


class EncodedRequest(NamedTuple):
    """The body of a request and the value of its header Content-Type."""

    body: bytes
    content_type: str


BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="
JSON = "application/json"

MAX_BODY_BYTES = 6_291_456
"""Source: botocore's model of sagemaker-runtime, BodyBlob. The developer guide says 25 MB."""


class TooLarge(InvalidInput):
    """A request above SageMaker's size limit."""


def to_arrays(entry: CatalogEntry, inputs: Inputs) -> dict[str, Array]:
    """Return inputs as arrays that fit the signature. Raises `InvalidInput` with all problems."""
    tensors = {tensor.name: tensor for tensor in entry.inputs}
    problems = [f"input {name!r} is missing" for name in tensors if name not in inputs]
    arrays = {}
    for name, value in inputs.items():
        if name not in tensors:
            problems.append(f"no input {name!r}: write one of {', '.join(tensors)}")
            continue
        try:
            arrays[name] = _to_array(tensors[name], value)
            problems += _find_mismatches(tensors[name], arrays[name])
        except (TypeError, ValueError) as error:  # also from numpy, and from tensors on a GPU
            problems.append(f"input {name!r} is not {tensors[name].datatype}: {error}")
    reject_request(entry, *problems)
    return arrays


def encode(
    entry: CatalogEntry,
    arrays: Mapping[str, Array],
    outputs: Sequence[str] | None = None,
    parameters: Parameters | None = None,
    *,
    binary: bool = True,
    max_bytes: int = MAX_BODY_BYTES,
) -> EncodedRequest:
    """Return a request of at most `max_bytes`. Raises `InvalidInput`.

    `arrays` is the result of `to_arrays`; `outputs` are the requested outputs, by default all.
    """
    _reject_large_batch(entry, arrays)
    names = [tensor.name for tensor in entry.outputs]
    unknown_names = [name for name in outputs or () if name not in names]
    fix = f"write one of {', '.join(names)}"
    reject_request(entry, *(f"no output {name!r}: {fix}" for name in unknown_names))
    tensors, raw_arrays = [], []
    for tensor in entry.inputs:
        array = arrays[tensor.name]
        content: Any = {"name": tensor.name, "shape": array.shape, "datatype": tensor.datatype}
        if binary:
            raw_arrays.append(_to_bytes_view(array))
            content["parameters"] = {"binary_data_size": raw_arrays[-1].nbytes}
        else:
            content["data"] = array.ravel().tolist()
        tensors.append(content)
    requested = [{"name": name, "parameters": {"binary_data": binary}} for name in outputs or names]
    header = {"inputs": tensors, "outputs": requested, "parameters": dict(parameters or {})}
    header_bytes = _to_json(entry, header)
    body = b"".join((header_bytes, *raw_arrays))
    if len(body) > max_bytes:
        problem = f"the request has {len(body)} bytes, the limit is {max_bytes} (max_body_bytes)"
        raise TooLarge(f"{entry}: {problem}: send fewer rows, or use invoke_many")
    return EncodedRequest(body, f"{BINARY}{len(header_bytes)}" if binary else JSON)


def encode_generate(
    entry: CatalogEntry, arrays: Mapping[str, Array], parameters: Parameters | None = None
) -> EncodedRequest:
    """Return a request for Triton's generate extension. Raises `InvalidInput`.

    The request has no shapes: Triton sets variable dimensions to 1, except the innermost, which
    gets all elements (src/http_server.cc, GenerateRequestClass::ExactMappingInput).
    """
    _reject_large_batch(entry, arrays)
    request: dict[str, Any] = {"parameters": dict(parameters or {})}
    for tensor in entry.inputs:
        array = arrays[tensor.name]
        variable = [axis for axis, size in enumerate(tensor.shape) if size == -1]
        if any(array.shape[axis] != 1 for axis in variable[:-1]):
            fix = "a stream has no shapes: use size 1 in all variable dimensions except the last"
            reject_request(entry, f"input {tensor.name!r} has shape {list(array.shape)}: {fix}")
        request[tensor.name] = array.ravel().tolist()
    return EncodedRequest(_to_json(entry, request), JSON)


def decode(body: bytearray, content_type: str) -> dict[str, Array]:
    """Return a response's outputs by name. Arrays share the body's memory; BYTES are `bytes`."""
    offset = int(content_type.removeprefix(BINARY)) if content_type.startswith(BINARY) else None
    outputs, start = {}, offset or 0
    for output in json.loads(body[:offset]).get("outputs", ()):
        size = output.get("parameters", {}).get("binary_data_size")
        datatype, raw_array = output["datatype"], memoryview(body)[start : start + (size or 0)]
        if datatype == "BYTES" and size is None:
            array = np.array([text.encode() for text in output["data"]], object)
        elif datatype == "BYTES":
            array = utils.deserialize_bytes_tensor(bytes(raw_array))
        elif size is None:
            array = np.array(output["data"], utils.triton_to_np_dtype(datatype))
        else:
            array = np.frombuffer(raw_array, utils.triton_to_np_dtype(datatype))
        start += size or 0
        outputs[output["name"]] = array.reshape(output["shape"])
    return outputs


def count_rows(entry: CatalogEntry, arrays: Mapping[str, Array]) -> int:
    """Return the number of rows of a model with a batch axis. Raises `InvalidInput` for 0.

    Triton 2.51 rejects a request without rows: "input byte size mismatch ... Expected 8, got 0".
    """
    counts = {name: len(array) for name, array in arrays.items()}
    if len({*counts.values()}) != 1 or 0 in counts.values():
        problem = f"inputs have {counts} rows: give each the same number, at least 1"
        reject_request(entry, problem)
    return next(iter(counts.values()))


def _reject_large_batch(entry: CatalogEntry, arrays: Mapping[str, Array]) -> None:
    limit = entry.max_batch_size
    if limit and (rows := count_rows(entry, arrays)) > limit:
        fix = "send fewer rows, or use invoke_many"
        reject_request(entry, f"the request has {rows} rows, max_batch_size is {limit}: {fix}")


def reject_request(entry: CatalogEntry, *problems: str) -> None:
    """Raise `InvalidInput` with the problems of a request, if there are any."""
    if problems:
        raise InvalidInput(f"{entry}: {'; '.join(problems)}")


def _to_json(entry: CatalogEntry, content: dict[str, Any]) -> bytes:
    """Return JSON, with bytes as text. Raises `InvalidInput` for values that JSON lacks."""
    try:
        return json.dumps(content, default=bytes.decode).encode()
    except (TypeError, ValueError) as error:
        problem = f"an input or parameter cannot be sent as JSON: {error}"
        raise InvalidInput(f"{entry}: {problem}") from error


def _to_bytes_view(array: Array) -> memoryview:
    """Return the content of a binary tensor, without a copy of contiguous numbers."""
    if array.dtype != object:
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    return memoryview(utils.serialize_byte_tensor(array).item() if array.size else b"")


def _to_array(tensor: Tensor, value: Array | Sequence[Any]) -> Array:
    """Return an input as an array. Raises `TypeError` or `ValueError` if that is impossible.

    Lists of numbers are converted to the model's dtype if it can represent them. Strings become a
    column of UTF-8 bytes if the model takes one string per row.
    """
    if tensor.datatype != "BYTES":
        if isinstance(value, np.ndarray):
            return value
        return _convert_numbers(_numbers(value), _dtype(tensor))
    elements = np.asarray(value, object)
    array = np.array([_to_bytes(element) for element in elements.flat], dtype=object)
    shape = elements.shape
    if len(shape) == 1 and len(tensor.shape) == 2 and tensor.shape[1] == 1:
        shape = (*shape, 1)
    return array.reshape(shape)


def _numbers(value: Sequence[Any]) -> Array:
    """Return a list of numbers as an array.

    numpy makes floats, which are not exact, of integers of which only some exceed int64.
    """
    array = np.asarray(value)
    if array.dtype.kind == "f" and array.max(initial=0) >= 2.0**63:
        exact = np.asarray(value, object)
        if all(isinstance(number, int) and 0 <= number < 2**64 for number in exact.flat):
            return exact.astype(np.uint64)
    return array


def _convert_numbers(array: Array, dtype: np.dtype[Any]) -> Array:
    """Return Python numbers as `dtype`. Raises `ValueError` if `dtype` cannot represent them.

    Like numpy's arithmetic (NEP 50), a float may lose precision, but not become infinite.
    """
    if not array.size:
        return array.astype(dtype)
    # numpy's kinds: i for signed integers, u for unsigned integers, f for floats.
    kind = "f" if dtype.name == "bfloat16" else dtype.kind
    if kind not in {"i": "iuf", "u": "iuf", "f": "f"}.get(array.dtype.kind, ""):
        return array
    with np.errstate(over="ignore"):
        converted = array.astype(dtype)
    if array.dtype.kind == "f":
        preserved = np.isfinite(converted) == np.isfinite(array)
    else:
        preserved = converted.astype(object) == array.astype(object)
    if not preserved.all():
        raise ValueError(f"{array[~preserved][0]} does not fit into {dtype}")
    return converted


def _dtype(tensor: Tensor) -> np.dtype[Any]:
    dtype = utils.triton_to_np_dtype(tensor.datatype)
    if dtype is None:
        raise ValueError("this client does not support the datatype")
    return np.dtype(dtype)


def _to_bytes(element: Any) -> bytes:
    if isinstance(element, bytes):
        return element
    if not isinstance(element, str):
        raise TypeError(f"give str or bytes, in rows of one length, not {element!r}")
    return element.encode()


def _find_mismatches(tensor: Tensor, array: Array) -> Iterator[str]:
    dtype, shape = _dtype(tensor), tensor.shape
    if array.dtype != dtype:
        yield f"input {tensor.name!r} has dtype {array.dtype}, give {dtype}"
    sizes_match = (size in (-1, actual) for size, actual in zip(shape, array.shape, strict=False))
    if len(shape) != array.ndim or not all(sizes_match):
        yield f"input {tensor.name!r} has shape {list(array.shape)}, give {list(shape)}"
