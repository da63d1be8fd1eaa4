"""Arrays to Triton's request bodies, and answers back to arrays."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tritonclient.http import InferenceServerClient, InferInput, InferRequestedOutput
from tritonclient.utils import InferenceServerException, triton_to_np_dtype

from endpoint_client._catalog import CatalogEntry, Tensor
from endpoint_client._errors import InvalidInput

Array = npt.NDArray[Any]

BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="
JSON = "application/json"


class _Fault(Exception):
    """What keeps a value from being an input; the message goes on after the input's name."""


def encode(
    entry: CatalogEntry, inputs: Mapping[str, Array | Sequence[Any]], *, binary: bool
) -> tuple[bytes, str]:
    """Return a request's body and its Content-Type. Raises `InvalidInput` naming every fault."""
    problems = [f"input {name!r} is missing" for name in _missing(entry, inputs)]
    known = {tensor.name: tensor for tensor in entry.inputs}
    tensors = []
    for name, value in inputs.items():
        if name not in known:
            problems.append(f"no input {name!r}: write one of {', '.join(known)}")
            continue
        try:
            array = _array(known[name], value)
            problems += _faults(known[name], array)
            if not problems:
                tensors.append(_input(known[name], array, binary=binary))
        except _Fault as error:
            problems.append(f"input {name!r} {error}")
    if problems:
        raise InvalidInput(f"{entry.model} {entry.version}: {'; '.join(problems)}")
    outputs = [InferRequestedOutput(it.name, binary_data=binary) for it in entry.outputs]
    body, header_length = InferenceServerClient.generate_request_body(tensors, outputs=outputs)
    return body, f"{BINARY}{header_length}" if binary else JSON


def decode(body: bytes, content_type: str) -> dict[str, Array]:
    """Return an answer's outputs by name; BYTES tensors are arrays of `bytes`."""
    length = int(content_type.removeprefix(BINARY)) if content_type.startswith(BINARY) else None
    if length is not None and "outputs" not in json.loads(body[:length]):
        return {}  # tritonclient takes for granted that there are some
    result = InferenceServerClient.parse_response_body(body, header_length=length)
    outputs = result.get_response().get("outputs", [])
    return {it["name"]: _output(it["datatype"], result.as_numpy(it["name"])) for it in outputs}


def _missing(entry: CatalogEntry, inputs: Mapping[str, Any]) -> list[str]:
    return [tensor.name for tensor in entry.inputs if tensor.name not in inputs]


def _array(tensor: Tensor, value: Array | Sequence[Any]) -> Array:
    """Return an input as an array. Raises `_Fault` with what keeps it from being one.

    Lists of numbers become the model's dtype where that loses nothing; strings become one column of
    UTF-8 bytes where the model takes one string a row.
    """
    if value is None:
        raise _Fault("is None")
    if tensor.datatype != "BYTES":
        try:
            array = np.asarray(value)
        except ValueError as error:
            raise _Fault(
                f"is not an array, give rows of one length and one type: {error}"
            ) from None
        return array if isinstance(value, np.ndarray) else _converted(array, _dtype(tensor))
    given = np.asarray(value, object)
    array = np.array([_bytes(it) for it in given.flat], dtype=object)
    shape = given.shape
    if len(shape) == 1 and len(tensor.shape) == 2 and tensor.shape[1] == 1:
        shape = (*shape, 1)
    return array.reshape(shape)


def _converted(array: Array, wanted: np.dtype[Any]) -> Array:
    """Return numbers that somebody wrote in Python as `wanted`, if each of them is one.

    As numpy's own arithmetic (NEP 50), it takes a Python float for a float of any width.
    """
    if wanted.kind not in {"i": "iuf", "u": "iuf", "f": "f"}.get(array.dtype.kind, ""):
        return array
    with np.errstate(over="ignore"):
        converted = array.astype(wanted)
    if array.dtype.kind == "f":
        kept = np.isfinite(converted) == np.isfinite(array)
    else:
        kept = converted.astype(object) == array.astype(object)
    if not kept.all():
        raise _Fault(f"has {array[~kept][0]}, which is no {wanted}")
    return converted


def _dtype(tensor: Tensor) -> np.dtype[Any]:
    known = triton_to_np_dtype(tensor.datatype)
    if known is None:
        raise _Fault(f"has datatype {tensor.datatype}, which this client does not know")
    return np.dtype(known)


def _bytes(element: Any) -> bytes:
    if isinstance(element, bytes):
        return element
    if isinstance(element, list | tuple | np.ndarray):
        raise _Fault("is not an array: give rows of one length")
    if not isinstance(element, str):
        raise _Fault(f"has an element {element!r}: give str or bytes")
    try:
        return element.encode()
    except UnicodeEncodeError as error:
        raise _Fault(f"has an element that is not text: {error}") from None


def _faults(tensor: Tensor, array: Array) -> list[str]:
    faults = []
    wanted = _dtype(tensor)
    if array.dtype != wanted:
        faults.append(f"input {tensor.name!r} has dtype {array.dtype}, give {wanted}")
    fits = len(array.shape) == len(tensor.shape) and all(
        want in (-1, have) for want, have in zip(tensor.shape, array.shape, strict=True)
    )
    if not fits:
        shape = list(tensor.shape)
        faults.append(f"input {tensor.name!r} has shape {list(array.shape)}, give {shape}")
    return faults


def _input(tensor: Tensor, array: Array, *, binary: bool) -> InferInput:
    """Return an input that may be sent. Raises `_Fault` for what JSON cannot carry."""
    made = InferInput(tensor.name, list(array.shape), tensor.datatype)
    try:
        made.set_data_from_numpy(array, binary_data=binary)
    except InferenceServerException as error:
        raise _Fault(f"does not go into JSON, send it with binary=True: {error}") from None
    return made


def _output(datatype: str, array: Array) -> Array:
    """JSON has text where a raw tensor has bytes."""
    if datatype != "BYTES":
        return array
    elements = [it.encode() if isinstance(it, str) else it for it in array.flat]
    return np.array(elements, dtype=object).reshape(array.shape)
