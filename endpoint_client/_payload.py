"""Arrays to Triton's request bodies, and answers back to arrays."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tritonclient import utils

from endpoint_client._catalog import CatalogEntry, Tensor
from endpoint_client._errors import InvalidInput

Array = npt.NDArray[Any]
Inputs = Mapping[str, Array | Sequence[Any]]
Parameters = Mapping[str, str | int | float | bool]
Encoded = tuple[bytes, str]
"""A request's body and its Content-Type."""

BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="
JSON = "application/json"

MAX_BODY_BYTES = 6_291_456
"""Source: botocore's model of sagemaker-runtime, BodyBlob."""


class TooLarge(InvalidInput):
    """A request that is larger than SageMaker takes."""


def arrays_of(entry: CatalogEntry, inputs: Inputs) -> dict[str, Array]:
    """Return inputs as arrays that fit the signature. Raises `InvalidInput` naming every fault."""
    known = {tensor.name: tensor for tensor in entry.inputs}
    problems = [f"input {name!r} is missing" for name in known if name not in inputs]
    arrays = {}
    for name, value in inputs.items():
        if name not in known:
            problems.append(f"no input {name!r}: write one of {', '.join(known)}")
            continue
        try:
            arrays[name] = _array(known[name], value)
            problems += _mismatches(known[name], arrays[name])
        except (TypeError, ValueError) as error:  # numpy's and a GPU's tensor's, too
            problems.append(f"input {name!r} is not {known[name].datatype}: {error}")
    refuse(entry, *problems)
    return arrays


def encode(
    entry: CatalogEntry,
    arrays: Mapping[str, Array],
    outputs: Sequence[str] | None = None,
    parameters: Parameters | None = None,
    *,
    binary: bool = True,
) -> Encoded:
    """Return a request. Raises `InvalidInput`.

    `arrays` are those of `arrays_of`; `outputs` are all of the model's by default.
    """
    known = [tensor.name for tensor in entry.outputs]
    unknown = [name for name in outputs or () if name not in known]
    refuse(entry, *(f"no output {name!r}: write one of {', '.join(known)}" for name in unknown))
    tensors, raw = [], []
    for tensor in entry.inputs:
        array = arrays[tensor.name]
        content: Any = {"name": tensor.name, "shape": array.shape, "datatype": tensor.datatype}
        if binary:
            raw.append(_raw(array))
            content["parameters"] = {"binary_data_size": len(raw[-1])}
        else:
            content["data"] = array.ravel().tolist()
        tensors.append(content)
    chosen = [{"name": name, "parameters": {"binary_data": binary}} for name in outputs or known]
    header = {"inputs": tensors, "outputs": chosen, "parameters": dict(parameters or {})}
    encoded = _json(entry, header)
    body = b"".join((encoded, *raw))
    if len(body) > MAX_BODY_BYTES:
        problem = f"the request has {len(body)} bytes, SageMaker takes {MAX_BODY_BYTES}"
        raise TooLarge(f"{entry}: {problem}: send fewer rows, or use invoke_many")
    return body, f"{BINARY}{len(encoded)}" if binary else JSON


def encode_generate(
    entry: CatalogEntry, arrays: Mapping[str, Array], parameters: Parameters | None = None
) -> Encoded:
    """Return a request to generate. Raises `InvalidInput`.

    It carries no shapes: Triton gives the innermost dimension that varies all elements, and 1 to
    the others (src/http_server.cc, GenerateRequestClass::ExactMappingInput).
    """
    request: dict[str, Any] = {"parameters": dict(parameters or {})}
    for tensor in entry.inputs:
        array = arrays[tensor.name]
        varying = [axis for axis, size in enumerate(tensor.shape) if size == -1]
        if any(array.shape[axis] != 1 for axis in varying[:-1]):
            problem = "a stream's request carries no shape: give 1 in all dimensions that vary but"
            refuse(
                entry, f"input {tensor.name!r} has shape {list(array.shape)}: {problem} the last"
            )
        request[tensor.name] = array.ravel().tolist()
    return _json(entry, request), JSON


def decode(body: bytearray, content_type: str) -> dict[str, Array]:
    """Return an answer's outputs by name, sharing the body's memory; BYTES are `bytes`."""
    offset = int(content_type.removeprefix(BINARY)) if content_type.startswith(BINARY) else None
    outputs, start = {}, offset or 0
    for output in json.loads(body[:offset]).get("outputs", ()):
        size = output.get("parameters", {}).get("binary_data_size")
        datatype, part = output["datatype"], memoryview(body)[start : start + (size or 0)]
        if datatype == "BYTES" and size is None:
            array = np.array([text.encode() for text in output["data"]], object)
        elif datatype == "BYTES":
            array = utils.deserialize_bytes_tensor(bytes(part))
        elif size is None:
            array = np.array(output["data"], utils.triton_to_np_dtype(datatype))
        else:
            array = np.frombuffer(part, utils.triton_to_np_dtype(datatype))
        start += size or 0
        outputs[output["name"]] = array.reshape(output["shape"])
    return outputs


def refuse(entry: CatalogEntry, *problems: str) -> None:
    """Raise `InvalidInput` with what is wrong with a request, if anything is."""
    if problems:
        raise InvalidInput(f"{entry}: {'; '.join(problems)}")


def _json(entry: CatalogEntry, content: dict[str, Any]) -> bytes:
    """Return JSON; bytes become text. Raises `InvalidInput` for what JSON has not."""
    try:
        return json.dumps(content, default=bytes.decode).encode()
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{entry}: an input or parameter has no JSON: {error}") from error


def _raw(array: Array) -> bytes:
    if array.dtype != object:
        return array.tobytes()
    return bytes(utils.serialize_byte_tensor(array).item()) if array.size else b""


def _array(tensor: Tensor, value: Array | Sequence[Any]) -> Array:
    """Return an input as an array. Raise `TypeError` or `ValueError` if that is impossible.

    Lists of numbers become the model's dtype where that loses nothing; strings become one column of
    UTF-8 bytes where the model takes one string a row.
    """
    if tensor.datatype != "BYTES":
        array = np.asarray(value)
        return array if isinstance(value, np.ndarray) else _converted(array, _dtype(tensor))
    elements = np.asarray(value, object)
    array = np.array([_bytes(element) for element in elements.flat], dtype=object)
    shape = elements.shape
    if len(shape) == 1 and len(tensor.shape) == 2 and tensor.shape[1] == 1:
        shape = (*shape, 1)
    return array.reshape(shape)


def _converted(array: Array, dtype: np.dtype[Any]) -> Array:
    """Return numbers that somebody wrote in Python as `dtype`, if each of them is one.

    As numpy's own arithmetic (NEP 50), it takes a Python float for a float of any width.
    """
    kind = "f" if dtype.name == "bfloat16" else dtype.kind
    if kind not in {"i": "iuf", "u": "iuf", "f": "f"}.get(array.dtype.kind, ""):
        return array
    with np.errstate(over="ignore"):
        converted = array.astype(dtype)
    if array.dtype.kind == "f":
        kept = np.isfinite(converted) == np.isfinite(array)
    else:
        kept = converted.astype(object) == array.astype(object)
    if not kept.all():
        raise ValueError(f"{array[~kept][0]} is no {dtype}")
    return converted


def _dtype(tensor: Tensor) -> np.dtype[Any]:
    known = utils.triton_to_np_dtype(tensor.datatype)
    if known is None:
        raise ValueError("this client does not know the datatype")
    return np.dtype(known)


def _bytes(element: Any) -> bytes:
    if isinstance(element, bytes):
        return element
    if not isinstance(element, str):
        raise TypeError(f"give str or bytes, in rows of one length, not {element!r}")
    return element.encode()


def _mismatches(tensor: Tensor, array: Array) -> Iterator[str]:
    dtype, shape = _dtype(tensor), tensor.shape
    if array.dtype != dtype:
        yield f"input {tensor.name!r} has dtype {array.dtype}, give {dtype}"
    same = (size in (-1, actual) for size, actual in zip(shape, array.shape, strict=False))
    if len(shape) != array.ndim or not all(same):
        yield f"input {tensor.name!r} has shape {list(array.shape)}, give {list(shape)}"
